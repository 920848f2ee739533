import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * A thread that asks a sidecar after its health, and reports each wait in milliseconds. Does not
 * count how long this thread or that of the sidecar was ready to run while the machine ran something
 * else, nor how long the whole machine stood still.
 */
const { admin, pid } = workerData
const threads = ['/proc/thread-self/schedstat', '/proc/' + pid + '/task/' + pid + '/schedstat']
const ready = (path) => Number(readFileSync(path, 'latin1').split(' ')[1]) / 1e6
const clock = () => threads.reduce((time, path) => time - ready(path), performance.now())
let still = 0
let beat = clock()
setInterval(() => {
  const now = clock()
  if (now - beat > 200) still += now - beat
  beat = now
}, 20)
const ask = () => {
  const begun = clock()
  const stillBefore = still
  const told = () => {
    const wait = clock() - begun
    // The next beat comes before.
    setTimeout(() => {
      // oxlint-disable-next-line require-post-message-target-origin -- it is no window
      parentPort.postMessage(Math.max(0, wait - (still - stillBefore)))
      ask()
    }, 50)
  }
  get(admin + '/livez', (response) => response.resume().on('end', told)).on(
    'error',
    () => undefined,
  )
}
ask()
