/**
 * Writes a `WWW-Authenticate` value of the Bearer scheme. Parameters without a value are left out.
 */
export function challenge(parameters: Readonly<Record<string, string | undefined>>): string {
  const pairs = Object.entries(parameters)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `${name}=${quoted(value)}`)
  return `Bearer ${pairs.join(', ')}`
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
