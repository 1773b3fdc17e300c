import time, sys
from tests.browser.test_many_readers import *
def test_m(server):
    t=time.monotonic(); readers=[]
    for n in range(READERS):
        s=time.monotonic(); readers.append(Reader(server, CIRCUITS[n%len(CIRCUITS)])); print("open",readers[-1].circuit, round(time.monotonic()-s,2))
    print("all open",time.monotonic()-t)
    together=Barrier(READERS)
    def read(n):
        steps=[STEPS[(n+i)%len(STEPS)] for i in range(len(STEPS))]
        together.wait(30)
        return [round(readers[n].go(s)[1],2) for s in steps]
    for _ in range(2):
        with ThreadPoolExecutor(READERS) as pool:
            out=list(pool.map(read, range(READERS)))
        for i in range(len(STEPS)): print(i, sorted(o[i] for o in out))
del test_twenty_readers_stepping_at_once_each_get_their_own_picture_soon
