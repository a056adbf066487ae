import gpugoblin

lab = gpugoblin.connect()     # this machine's lab node
A, B = lab.open("A.npy"), lab.open("B.npy")
C = A @ B                     # lazy: nothing runs yet
print(C.explain())            # plan, bytes, memory, time
job = C.submit("kernel", out="C.npy")
print(job.why())              # what it does, and why
for part in job.parts():      # verified tiles
    print(part.slice, part.checks)
result = job.result()         # a memory map of C.npy
print(result[:2, :2])
