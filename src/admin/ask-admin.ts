import { type Fields, isRecord } from '../base/values.ts'
import { plain } from '../base/text/foreign-text.ts'
import { CLIENT_HEADER } from '../http/trusted-host.ts'

/** The admin port of a sidecar. */
export interface SidecarAdmin {
  readonly url: URL
  /** The read token, for a sidecar that asks for one. */
  readonly readToken?: string | undefined
}

/** The admin port cannot be asked. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
}

const MAX_BYTES = 4 * 1024 * 1024
const TIMEOUT_MS = 2000
const NO_READ = 'needs the read token: --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN'

/** Asks an admin port for JSON. Throws an `AdminError`. */
export async function askAdmin(
  { url, readToken }: SidecarAdmin,
  path: string,
  client: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly body: Fields; readonly date: number | undefined }> {
  const limit = AbortSignal.timeout(TIMEOUT_MS)
  const either = signal === undefined ? limit : AbortSignal.any([limit, signal])
  try {
    const response = await fetch(new URL(path, url), {
      signal: either,
      redirect: 'error',
      headers: {
        [CLIENT_HEADER]: client,
        ...(readToken !== undefined && { authorization: `Bearer ${readToken}` }),
      },
    })
    const text = await boundedText(response)
    if (response.status === 401) throw new AdminError(`${path} ${NO_READ}`)
    if (!response.ok) throw new AdminError(`${path} answers ${response.status}`)
    const date = Date.parse(response.headers.get('date') ?? '')
    const body: unknown = JSON.parse(text)
    if (!isRecord(body)) throw new AdminError(`${path} is not answered by a sidecar`)
    return { body, date: Number.isNaN(date) ? undefined : date }
  } catch (error) {
    if (error instanceof AdminError) throw error
    throw new AdminError(reasonOf(error), { cause: error })
  }
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array
    size += bytes.length
    if (size > MAX_BYTES) throw new AdminError('the answer is too large')
    text += decoder.decode(bytes, { stream: true })
  }
  return text + decoder.decode()
}

function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'the answer is not JSON'
  const { name, message, cause } = error as Error
  if (name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  const code = (cause as NodeJS.ErrnoException | undefined)?.code
  return plain(code ?? message)
}
