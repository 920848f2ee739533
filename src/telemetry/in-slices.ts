/** A slice of text is turned into bytes when it has become as long as this. */
const SLICE_CHARS = 64 * 1024
/** How long the event loop waits for one rendering at a time, in milliseconds. */
const SLICE_MS = 1

/**
 * Makes bytes of pieces of text that are made one by one, and lets everything else go on in between:
 * calls wait for a scrape no longer than for one slice of it.
 */
export async function inSlices(pieces: Iterable<string>): Promise<readonly Buffer[]> {
  const slices: Buffer[] = []
  let text = ''
  // What was done before this is a piece of work of its own.
  await nextTurn()
  let began = performance.now()
  for (const piece of pieces) {
    text += piece
    const isLong = text.length >= SLICE_CHARS
    if (isLong) {
      slices.push(Buffer.from(text, 'utf8'))
      text = ''
    }
    if (performance.now() - began < SLICE_MS) continue
    await nextTurn()
    began = performance.now()
  }
  slices.push(Buffer.from(text, 'utf8'))
  return slices
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
