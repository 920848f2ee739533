const UNRESERVED = /[\w.~-]/

/**
 * Normalizes a path for comparison (RFC 3986): decodes unreserved characters, removes empty
 * segments and resolves dot segments. Encoded slashes and invalid escapes stay unchanged.
 */
export function canonicalPath(path: string): string {
  if (!/%|\/\/|\/\./.test(path)) return path
  const plain = path.replace(/%([\da-f]{2})/gi, (escape, hex: string) => {
    const char = String.fromCharCode(Number.parseInt(hex, 16))
    return UNRESERVED.test(char) ? char : escape.toUpperCase()
  })
  const kept: string[] = []
  const segments = plain.split(/\/+/)
  for (const segment of segments) {
    if (segment === '..') kept.pop()
    else if (segment !== '.' && segment !== '') kept.push(segment)
  }
  const isDirectory = ['', '.', '..'].includes(segments.at(-1)!) && kept.length > 0
  return (plain.startsWith('/') ? '/' : '') + kept.join('/') + (isDirectory ? '/' : '')
}
