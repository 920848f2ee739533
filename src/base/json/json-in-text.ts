/** Parses JSON; returns undefined for any other text, since JSON has no such value. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the object or list that a text holds as JSON, as many tools return it. */
export function jsonInText(text: string): object | undefined {
  return /^\s*[[{]/.test(text) ? (parsedJson(text) as object | undefined) : undefined
}
