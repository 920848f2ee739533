/** The first chunks of a body. */
export interface BodyStart {
  readonly chunks: readonly Uint8Array[]
  readonly size: number
  /** True when the body has no more. */
  readonly ended: boolean
}

/** Reads the first chunks of a body: at least `atLeast` bytes of a longer one. */
export async function startOf(
  body: AsyncIterator<Uint8Array>,
  atLeast: number,
): Promise<BodyStart> {
  const chunks: Uint8Array[] = []
  let size = 0
  while (size < atLeast) {
    const step = await body.next()
    if (step.done === true) return { chunks, size, ended: true }
    chunks.push(step.value)
    size += step.value.length
  }
  return { chunks, size, ended: false }
}

/** Returns the body of these chunks and the rest. */
export async function* rejoined(
  chunks: readonly Uint8Array[],
  rest?: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks
    for (let step = await rest?.next(); step && step.done !== true; step = await rest?.next())
      yield step.value
  } finally {
    await rest?.return?.()
  }
}
