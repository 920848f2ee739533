import { CLIENT_HEADER } from '../mcp/trusted-host.ts'
import { plain } from '../rules/problem.ts'

/** What a sidecar says of itself, as far as an experiment wants to know. */
export interface SidecarState {
  /** Undefined when it was started without one. */
  readonly environment: string | undefined
  readonly armed: boolean
  readonly reasons: readonly { readonly by: string; readonly reason: string }[]
  readonly shadow: boolean
  /** Of the rules in force; undefined when there never were any. */
  readonly digest: string | undefined
  /** What it found last, and what was wrong with it. */
  readonly last:
    { readonly digest: string; readonly result: string; readonly problem: string } | undefined
  /** By how much its clock is ahead, in milliseconds; 0 within what its answers can tell. */
  readonly aheadMs: number
}

/** What became of the calls of one rule. */
export interface SidecarRule {
  readonly name: string
  readonly phase: string
  readonly shadow: boolean
  readonly builtIn: boolean
  readonly matched: number
  readonly drawn: number
  readonly applied: number
}

/** The admin port of a sidecar. */
export interface SidecarAdmin {
  readonly url: URL
  /** What reading needs, where the sidecar asks for it. */
  readonly readToken?: string | undefined
}

/** The admin port cannot be asked. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
}

type Fields = Readonly<Record<string, unknown>>

const MAX_BYTES = 4 * 1024 * 1024
const TIMEOUT_MS = 2000
const NO_READ = 'needs the read token: --admin-read-token-file or SQUALL_ADMIN_READ_TOKEN'
/** The time in an answer's head has whole seconds. */
const CLOCK_BLUR_MS = 2000

/** Asks for the state. Throws an `AdminError`. */
export async function askState(admin: SidecarAdmin, signal?: AbortSignal): Promise<SidecarState> {
  const { body, date } = await ask(admin, '/api/state', signal)
  const rules = fieldsOf(body['rules'])
  const last = fieldsOf(body['lastReload'])
  const lastDigest = textOf(last['digest'])
  const [problem] = listOf(last['problems'])
  const ahead = date === undefined ? 0 : date - Date.now()
  return {
    environment: textOf(body['environment']),
    armed: body['armed'] === true,
    reasons: listOf(body['reasons']).map(({ by, reason }) => ({
      by: textOf(by) ?? '?',
      reason: textOf(reason) ?? '',
    })),
    shadow: body['shadow'] === true,
    digest: textOf(rules['digest']),
    last:
      lastDigest === undefined
        ? undefined
        : {
            digest: lastDigest,
            result: textOf(last['result']) ?? '?',
            problem: problemText(problem),
          },
    aheadMs: Math.abs(ahead) <= CLOCK_BLUR_MS ? 0 : ahead,
  }
}

/** Asks for the rules in force. Throws an `AdminError`. */
export async function askRules(
  admin: SidecarAdmin,
  signal?: AbortSignal,
): Promise<readonly SidecarRule[]> {
  const { body } = await ask(admin, '/api/rules', signal)
  return listOf(body['rules']).map((rule) => {
    const counts = fieldsOf(rule['counts'])
    return {
      name: textOf(rule['name']) ?? '?',
      phase: textOf(rule['phase']) ?? '?',
      shadow: rule['shadow'] === true,
      builtIn: rule['builtIn'] === true,
      matched: numberOf(counts['matched']),
      drawn: numberOf(counts['drawn']),
      applied: numberOf(counts['applied']),
    }
  })
}

async function ask(
  { url, readToken }: SidecarAdmin,
  path: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly body: Fields; readonly date: number | undefined }> {
  const limit = AbortSignal.timeout(TIMEOUT_MS)
  const either = signal === undefined ? limit : AbortSignal.any([limit, signal])
  try {
    const response = await fetch(new URL(path, url), {
      signal: either,
      redirect: 'error',
      headers: {
        [CLIENT_HEADER]: 'experiment',
        ...(readToken !== undefined && { authorization: `Bearer ${readToken}` }),
      },
    })
    const text = await boundedText(response)
    if (response.status === 401) throw new AdminError(`${path} ${NO_READ}`)
    if (!response.ok) throw new AdminError(`${path} answers ${response.status}`)
    const date = Date.parse(response.headers.get('date') ?? '')
    const body: unknown = JSON.parse(text)
    if (fieldsOf(body) !== body) throw new AdminError(`${path} is not answered by a sidecar`)
    return { body: fieldsOf(body), date: Number.isNaN(date) ? undefined : date }
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

function problemText(problem: Fields | undefined): string {
  if (problem === undefined) return ''
  return [textOf(problem['path']), textOf(problem['message'])].filter(Boolean).join(': ')
}

/** Comes from outside and is shown: short, and without anything a terminal obeys. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? plain(value.slice(0, 500)) : undefined
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {}
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}
