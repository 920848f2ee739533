import { parentPort, workerData } from 'node:worker_threads'
import { type AnchorJob, anchorTexts } from './applied-text.ts'
import type { FoundRules } from './rules-file.ts'
import { parseFound } from './rules-parser.ts'

// Runs in a worker thread: parses or anchors large texts, and ends.
const job = workerData as FoundRules | AnchorJob
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(job.kind === 'anchor' ? anchorTexts(job) : parseFound(job))
