import type { PlainClient } from './plain-client.ts'
import type { ToolCall } from './seeded-calls.ts'
import { Tally } from './tally.ts'

/** How the load is laid out. */
export interface FanOut {
  /** Clients at a time. */
  readonly clients: number
  /** No task begins after this time. */
  readonly budgetMs: number
  /** Calls of one task, sent at once; the next task waits for all of them. */
  readonly width: number
}

/** What the clients saw. */
export interface LoadResult {
  readonly seen: Tally
  readonly sent: number
  readonly tasks: number
  readonly failedTasks: number
  readonly seconds: number
}

/** Sends the calls as tasks that fan out. */
export async function fanOut(
  calls: readonly ToolCall[],
  { clients, width, budgetMs }: FanOut,
  connect: () => PlainClient,
  progress: (done: number) => void,
): Promise<LoadResult> {
  const seen = new Tally()
  const startedAt = performance.now()
  let next = 0
  let done = 0
  let tasks = 0
  let failedTasks = 0
  const work = async (): Promise<void> => {
    const client = connect()
    while (next < calls.length && performance.now() < startedAt + budgetMs) {
      const task = calls.slice(next, next + width)
      next += width
      const answers = await Promise.all(task.map((call) => client.send(call)))
      answers.forEach(({ ending }, i) => seen.add(task[i]!.params.name, ending))
      tasks++
      if (answers.some(({ ending }) => ending !== 'ok')) failedTasks++
      done += task.length
      progress(done)
    }
    client.close()
  }
  await Promise.all(Array.from({ length: clients }, work))
  return { seen, sent: done, tasks, failedTasks, seconds: (performance.now() - startedAt) / 1000 }
}
