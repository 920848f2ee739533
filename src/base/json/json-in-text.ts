/** Returns the object or list that a text holds as JSON, as many tools return it. */
export function jsonInText(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as object
  } catch {
    return undefined
  }
}
