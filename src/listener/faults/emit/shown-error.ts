const MAX_FRAMES = 8
const MAX_NAME = 64

/** What a log may tell of an error. */
export interface ShownError {
  readonly type: string
  readonly code?: string
  /** Where it was thrown, innermost first. */
  readonly frames?: readonly string[]
}

/**
 * An error without its message: those of parsers quote what they read, which here is somebody's
 * arguments or results.
 */
export function shownError(error: unknown): ShownError {
  if (!(error instanceof Error)) return { type: typeof error }
  const { name, message, stack } = error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  // The stack begins with the message, which may have lines that look like frames.
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
