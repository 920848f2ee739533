import { afterEach, type TestContext } from 'vitest'

/** Notes what has to be closed, and returns it. */
export type Open = <T extends { close(): unknown }>(opened: T) => T

/**
 * Things that a test opened, closed after it in reverse order. Call once at the top of a test file.
 */
export function closers(): Open {
  const { open, closeAll } = closeStack()
  afterEach(closeAll)
  return open
}

/** Does the same for one test, which may run beside others of its file. */
export function closersOf({ onTestFinished }: Pick<TestContext, 'onTestFinished'>): Open {
  const { open, closeAll } = closeStack()
  onTestFinished(closeAll)
  return open
}

/** Things that are closed in reverse order. */
export function closeStack(): { readonly open: Open; readonly closeAll: () => Promise<void> } {
  const stack: (() => unknown)[] = []
  return {
    open: (opened) => {
      stack.push(() => opened.close())
      return opened
    },
    closeAll: async () => {
      for (const close of stack.splice(0).toReversed()) await close()
    },
  }
}
