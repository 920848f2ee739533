import { afterEach } from 'vitest'

type Closer = () => unknown

/**
 * Things that a test opened, closed after it in reverse order. Call once at the top of a test file.
 */
export function closers(): <T extends { close(): unknown }>(opened: T) => T {
  const open: Closer[] = []
  afterEach(async () => {
    for (const close of open.splice(0).toReversed()) await close()
  })
  return (opened) => {
    open.push(() => opened.close())
    return opened
  }
}
