"""Mail: written into the outbox by whoever has something to say, delivered from there.

`outbox` is what other rooms use; `text` renders; `delivery` claims rows and hands them over by
`smtp` or the backend of the settings; `courier` does so at once; `bounces` hears what came back.
"""
