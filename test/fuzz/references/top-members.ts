/** Reports whether an object repeats a member, in a text that is known to be JSON. Checks only the
 * outermost objects, which in a batch are the messages. */
export function repeatsMember(text: string): boolean {
  const seen: Set<string>[] = []
  const depthOfMessage = text.trimStart().startsWith('[') ? 2 : 1
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (char === '{' || char === '[') {
      depth++
      if (depth === depthOfMessage) seen.push(new Set())
    } else if (char === '}' || char === ']') {
      depth--
    } else if (char === '"') {
      const end = stringEnd(text, at)
      if (depth === depthOfMessage && /^\s*:/.test(text.slice(end, end + 64))) {
        const name = JSON.parse(text.slice(at, end)) as string
        const names = seen.at(-1)!
        if (names.has(name)) return true
        names.add(name)
      }
      at = end - 1
    }
  }
  return false
}

/** Behind the quote that ends the string which begins here. */
function stringEnd(text: string, start: number): number {
  let at = start + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}
