/** Something that a test has started. */
interface Closable {
  close(): Promise<void>
}

/** Remembers what a test opens, and closes it when the test is over. */
export function closeAll(
  afterEach: (hook: () => Promise<void>) => void,
): <T extends Closable>(opened: T) => T {
  const all: Closable[] = []
  afterEach(async () => {
    for (const each of all.splice(0).toReversed()) await each.close()
  })
  return (opened) => {
    all.push(opened)
    return opened
  }
}
