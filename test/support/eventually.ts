import { setTimeout as sleep } from 'node:timers/promises'

/** On a busy machine, what takes a second may take twenty. */
const LIMIT = 30_000

/** Waits before a question is asked again, longer each time: what is asked costs as much as work. */
export async function pause(asked: number): Promise<void> {
  await sleep(Math.min(60, 5 + 3 * asked))
}

/**
 * Asks again until nothing is wrong any more, for what can only be asked. Fails with the last
 * complaint.
 */
export async function eventually(
  complaint: () => string | undefined | Promise<string | undefined>,
  limit = LIMIT,
): Promise<void> {
  const end = performance.now() + limit
  for (let asked = 0; ; asked++) {
    const wrong = await complaint()
    if (wrong === undefined) return
    if (performance.now() > end) throw new Error(wrong)
    await pause(asked)
  }
}
