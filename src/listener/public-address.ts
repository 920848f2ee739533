import { splice, type TextEdit } from '../base/json/json-edit.ts'
import type { JsonNode } from '../base/json/json-node.ts'
import { readJson } from '../base/json/json-text.ts'
import { formatUpstream, type UpstreamAddress } from '../upstream/address.ts'

/** Finds each `scheme://authority`, in a header value or at the start of a string. */
const IN_HEADER = /(?<![a-z0-9+.-])https?:\/\/[^\s"',;<>\\/?#]+/gi
const AT_START = /^https?:\/\/[^\s"',;<>\\/?#]+/i
const LOOPBACK = /^(?:localhost|::1|127\.\d+\.\d+\.\d+)$/i

/** Replaces the origins of an upstream by the public URL. */
export class PublicAddress {
  readonly #url: string
  /** URLs at the public origin stay unchanged. */
  readonly #origin: string
  readonly #own: ReadonlySet<string>

  /** `url` must not end in a slash. */
  constructor(url: string, upstream: UpstreamAddress) {
    this.#url = url
    this.#origin = new URL(url).origin
    this.#own = new Set(originsOf(upstream))
  }

  /** Rewrites all URLs in a header value. `host` is the `Host` of the request. */
  inHeader(value: string, host: string | undefined): string {
    return this.#rewrite(value, IN_HEADER, this.#origins(host))
  }

  /**
   * Rewrites the string values that begin with an origin of the upstream; returns undefined for
   * invalid JSON.
   */
  inJson(text: string, host: string | undefined): string | undefined {
    const root = readJson(text)
    if (root === undefined) return undefined
    const own = this.#origins(host)
    const edits: TextEdit[] = []
    const visit = (node: JsonNode): void => {
      if (node.kind === 'object') for (const { value } of node.members) visit(value)
      else if (node.kind === 'array') node.items.forEach(visit)
      else if (node.kind === 'string') {
        const rewritten = this.#rewrite(node.value, AT_START, own)
        if (rewritten === node.value) return
        edits.push({ start: node.start, end: node.end, text: JSON.stringify(rewritten) })
      }
    }
    visit(root)
    return splice(text, edits)
  }

  #rewrite(text: string, urls: RegExp, own: ReadonlySet<string>): string {
    return text.replace(urls, (url) => (own.has(originOf(url) ?? '') ? this.#url : url))
  }

  /**
   * Returns the upstream's origins, with those of `Host`: servers build URLs from it with either
   * scheme.
   */
  #origins(host = ''): ReadonlySet<string> {
    const own = new Set(this.#own)
    for (const scheme of ['http', 'https']) {
      const origin = originOf(`${scheme}://${host}`)
      if (origin !== undefined) own.add(origin)
    }
    own.delete(this.#origin)
    return own
  }
}

function originsOf(upstream: UpstreamAddress): string[] {
  if (upstream.kind === 'unix') return []
  const { host } = upstream
  const names = LOOPBACK.test(host) ? [host, 'localhost', '127.0.0.1', '::1'] : [host]
  return names.map((name) => originOf(formatUpstream({ ...upstream, host: name })) ?? '')
}

/** Normalizes an origin; returns undefined for other texts, such as URLs with a user name. */
function originOf(text: string): string | undefined {
  if (text.includes('@') || !URL.canParse(text)) return undefined
  return new URL(text).origin
}
