import { setTimeout as sleep } from 'node:timers/promises'

/** On a busy machine, what takes a second may take twenty. */
const LIMIT = 30_000

/**
 * Asks again until nothing is wrong any more, for what can only be asked. Fails with the last
 * complaint.
 */
export async function eventually(
  complaint: () => string | undefined | Promise<string | undefined>,
  limit = LIMIT,
): Promise<void> {
  const end = performance.now() + limit
  for (;;) {
    const wrong = await complaint()
    if (wrong === undefined) return
    if (performance.now() > end) throw new Error(wrong)
    await sleep(15)
  }
}
