/** The heap that the largest jobs need; with less, a job fails before the process is killed. */
const MOST_MEMORY = 256
const LEAST_MEMORY = 32
const MIB = 1024 * 1024

/** Runs one job in a worker thread; returns undefined when the signal aborts. */
export async function inThread<T>(
  script: URL,
  job: object,
  signal: AbortSignal,
): Promise<T | undefined> {
  // Most jobs are small, and a start does without it then.
  const { Worker } = process.getBuiltinModule('node:worker_threads')
  const worker = new Worker(script, {
    workerData: job,
    name: 'squall',
    // The worker needs no environment, which may hold secrets.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryLimit() },
  })
  const giveUp = (): void => void worker.terminate()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    return await new Promise<T | undefined>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => {
        if (signal.aborted) resolve(undefined)
        else reject(new Error('the worker thread exited'))
      })
    })
  } finally {
    signal.removeEventListener('abort', giveUp)
    await worker.terminate()
  }
}

/** Returns half of the memory that is left to the process, in MiB. */
function memoryLimit(): number {
  const half = Math.floor(process.availableMemory() / 2 / MIB)
  return Math.min(MOST_MEMORY, Math.max(LEAST_MEMORY, half))
}
