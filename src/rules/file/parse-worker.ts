import { parentPort, workerData } from 'node:worker_threads'
import type { FoundRules } from './rules-file.ts'
import { parseFound } from './rules-parser.ts'

// The whole program of a thread that reads one large text and ends.
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(parseFound(workerData as FoundRules))
