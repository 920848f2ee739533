import { bodyType } from '../../http/body-type.ts'
import { strictText } from '../../base/bytes.ts'
import { headersForChangedBody } from '../../http/changed-body-headers.ts'
import type { ChunkRun } from '../../http/chunk-run.ts'
import {
  headerValue,
  headerValues,
  targetPath,
  type HeaderLines,
  type RequestHead,
  type ResponseHead,
} from '../../http/headers.ts'
import type { ByteBudget } from '../../base/byte-budget.ts'
import type { Failure, ResponseSink } from '../../http/transfer.ts'
import { codingOf, decodeWhole } from '../../http/content-coding.ts'
import type { PublicAddress } from '../public-address.ts'
import type { RareLog } from '../rare-log.ts'
import type { Layer, Outgoing, Service } from './service.ts'
import type { StackParts } from './stack-parts.ts'

const METADATA = /^\/\.well-known\/oauth-protected-resource(?:\/|$)/
const UNCHANGED = 'OAuth metadata was not rewritten'
/** Larger metadata passes unchanged. */
const MAX_METADATA = 64 * 1024

interface PublicParts {
  readonly address: PublicAddress
  readonly log: RareLog
  readonly memory: ByteBudget
}

/** Names the public URL in the OAuth documents of the upstream. */
export function publicAddress(p: StackParts): Layer<Service<Outgoing>> {
  const { publicAddress: address, rareLog: log, memory } = p
  return (inner) => {
    if (address === undefined) return inner
    const parts = { address, log, memory }
    return {
      send(request, sink) {
        const rewriting = new PublicSink(request.head, sink, parts)
        const transfer = inner.send(request, rewriting)
        if (!rewriting.isMetadata) return transfer
        const abort = (): void => {
          rewriting.drop()
          transfer.abort()
        }
        return { resume: () => transfer.resume(), abort }
      },
    }
  }
}

/** Rewrites challenges, and metadata when it is complete; forwards everything else at once. */
class PublicSink implements ResponseSink {
  readonly chunks?: (run: ChunkRun) => boolean
  readonly isMetadata: boolean
  readonly #host: string | undefined
  readonly #sink: ResponseSink
  readonly #parts: PublicParts
  /** The head of metadata, while it is held. */
  #head: ResponseHead | undefined
  #chunks: Uint8Array[] = []
  #size = 0

  constructor({ method, target, headers }: RequestHead, sink: ResponseSink, parts: PublicParts) {
    this.isMetadata = method === 'GET' && METADATA.test(targetPath(target))
    this.#host = headerValue(headers, 'host')
    this.#sink = sink
    this.#parts = parts
    if (sink.chunks !== undefined && !this.isMetadata) this.chunks = (run) => sink.chunks!(run)
  }

  info(head: ResponseHead): void {
    this.#sink.info(head)
  }

  head(head: ResponseHead, whole?: boolean): void {
    const { headers, status } = head
    const isChallenge = headerValue(headers, 'www-authenticate') !== undefined
    const rewritten = isChallenge ? { ...head, headers: this.#challenges(headers) } : head
    const type = headerValue(headers, 'content-type') ?? ''
    if (this.isMetadata && status === 200 && bodyType(type) === 'json') this.#head = rewritten
    else this.#sink.head(rewritten, whole)
  }

  data(chunk: Uint8Array): boolean {
    if (this.#head === undefined) return this.#sink.data(chunk)
    const hasCapacity = this.#parts.memory.take(chunk.length)
    this.#chunks.push(chunk)
    if (!hasCapacity) return this.#forward('too much memory is in use')
    this.#size += chunk.length
    return this.#size <= MAX_METADATA || this.#forward('larger than 64 KiB')
  }

  end(trailers: HeaderLines): void {
    const head = this.#head
    const text = head && this.#text(head)
    const rewritten = text === undefined ? undefined : this.#parts.address.inJson(text, this.#host)
    if (head === undefined || rewritten === undefined || rewritten === text) {
      this.#forward(rewritten === undefined ? 'not valid JSON' : undefined)
      this.#sink.end(trailers)
      return
    }
    this.drop()
    const bytes = Buffer.from(rewritten)
    this.#sink.head({ ...head, headers: headersForChangedBody(head.headers, bytes.length) })
    this.#sink.data(bytes)
    this.#sink.end([])
  }

  fail(failure: Failure): void {
    this.#forward(undefined)
    this.#sink.fail(failure)
  }

  /** Releases the held chunks. */
  drop(): void {
    this.#parts.memory.give(this.#size)
    this.#size = 0
    this.#chunks = []
  }

  #challenges(lines: HeaderLines): HeaderLines {
    const { address } = this.#parts
    const isOne = (at: number): boolean => lines[at]?.toLowerCase() === 'www-authenticate'
    return lines.map((part, at) =>
      at % 2 === 1 && isOne(at - 1) ? address.inHeader(part, this.#host) : part,
    )
  }

  #text({ headers }: ResponseHead): string | undefined {
    const coding = codingOf(headerValues(headers, 'content-encoding').join(','))
    const plain = decodeWhole(coding, Buffer.concat(this.#chunks), MAX_METADATA)
    return plain && strictText(plain)
  }

  /** Forwards the held response unchanged and logs the reason; false asks for a pause. */
  #forward(reason: string | undefined): boolean {
    const head = this.#head
    if (head === undefined) return true
    if (reason !== undefined) this.#parts.log.warn('oauth_metadata', reason, UNCHANGED)
    this.#head = undefined
    this.#sink.head(head)
    let more = true
    const chunks = this.#chunks
    this.drop()
    for (const chunk of chunks) more = this.#sink.data(chunk)
    return more
  }
}
