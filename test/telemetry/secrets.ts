import { randomBytes } from 'node:crypto'

/** Makes secrets, and remembers where each was put. */
export class Secrets {
  readonly #places = new Map<string, string>()

  plant(place: string): string {
    const secret = randomBytes(12).toString('hex')
    this.#places.set(secret, place)
    return secret
  }

  headers(names: readonly string[], place: string): Record<string, string> {
    return Object.fromEntries(names.map((name) => [name, this.plant(`${place} ${name}`)]))
  }

  /** The places whose secrets are in a text, whole, encoded, or their beginning. */
  foundIn(text: string): string[] {
    const found = [...this.#places].filter(([secret]) => {
      const encoded = Buffer.from(secret).toString('base64')
      return text.includes(secret.slice(0, 12)) || text.includes(encoded)
    })
    return found.map(([, place]) => place)
  }
}
