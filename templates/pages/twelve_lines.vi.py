import gpugoblin

lab = gpugoblin.connect()     # nút của phòng lab trên máy này
A, B = lab.open("A.npy"), lab.open("B.npy")
C = A @ B                     # chưa tính gì cả
print(C.explain())            # kế hoạch, dung lượng, thời gian
job = C.submit("kernel", out="C.npy")
print(job.why())              # đang làm gì, vì sao
for part in job.parts():      # từng ô đã kiểm chứng
    print(part.slice, part.checks)
result = job.result()         # tệp C.npy ánh xạ vào bộ nhớ
print(result[:2, :2])
