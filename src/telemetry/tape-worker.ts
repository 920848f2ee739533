import { parentPort, workerData } from 'node:worker_threads'
import { type TapeJob, tapeLines } from './tape-line.ts'

// Runs in a worker thread: reads a large message, and ends.
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(tapeLines(workerData as TapeJob))
