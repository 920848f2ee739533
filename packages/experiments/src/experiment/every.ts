import { setTimeout as sleep } from 'node:timers/promises'

/** Acts until the signal is aborted, with a pause after each time. Rejects when an action does. */
export async function every(
  ms: number,
  signal: AbortSignal,
  act: () => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    await act()
    await sleep(ms, undefined, { signal }).catch(() => {})
  }
}
