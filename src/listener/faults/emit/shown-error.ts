const MAX_FRAMES = 8
const MAX_NAME = 64

/** The parts of an error that the log may contain. */
export interface ShownError {
  readonly type: string
  readonly code?: string
  /** The stack frames, innermost first. */
  readonly frames?: readonly string[]
}

/**
 * Removes the message of an error: parsers quote their input there, which is a client's arguments
 * or an app's results.
 */
export function shownError(error: unknown): ShownError {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack } = error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  // The stack begins with the message, whose lines may look like frames.
  const head = `${name}: ${message}`
  const isUsual = stack?.startsWith(head) === true
  const lines = isUsual ? stack.slice(head.length).split('\n') : []
  const frames = lines.map((line) => line.trim()).filter((line) => line.startsWith('at '))
  return {
    type: name.slice(0, MAX_NAME),
    ...(code === undefined ? {} : { code: code.slice(0, MAX_NAME) }),
    ...(frames.length === 0 ? {} : { frames: frames.slice(0, MAX_FRAMES) }),
  }
}
