import { KubeError } from './kube-error.ts'
import { readKubeFile } from './kube-file.ts'
import type { Credentials, CredentialSource } from './cluster-access.ts'

/** Kubelet renews a token well before it ends. */
const READ_AGAIN_MS = 60_000

/** A token as a header can carry it. The token itself is in no message. */
export function checkedToken(text: string, from: string): string {
  const token = text.trim()
  if (!/^[\x21-\x7e]{1,65536}$/.test(token)) {
    throw new KubeError('config', `${from} holds no token: one line of visible ASCII is needed`)
  }
  return token
}

/** A token in a file that somebody renews. */
export class TokenFile implements CredentialSource {
  readonly #path: string
  readonly #more: Credentials
  readonly #now: () => number
  #token: string | undefined
  #readAt = -Infinity

  constructor(path: string, more: Credentials, now: () => number = () => performance.now()) {
    this.#path = path
    this.#more = more
    this.#now = now
  }

  get(refused: boolean): Promise<Credentials> {
    const now = this.#now()
    if (refused || now - this.#readAt >= READ_AGAIN_MS) {
      try {
        this.#token = checkedToken(readKubeFile(this.#path, 'token file'), this.#path)
        this.#readAt = now
      } catch (error) {
        // In the moment of a swap there may be none; the last one is still good.
        if (this.#token === undefined || refused) return Promise.reject(error)
      }
    }
    return Promise.resolve({ ...this.#more, token: this.#token })
  }
}
