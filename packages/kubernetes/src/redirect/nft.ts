import { spawn } from 'node:child_process'

type NftProblem =
  'NOT_FOUND' | 'NOT_ALLOWED' | 'NOT_SUPPORTED' | 'TIMED_OUT' | 'REJECTED' | 'CANNOT_START'

/** Says why `nft` did not set the rules, and how to fix it. */
export class NftError extends Error {
  override readonly name = 'NftError'
  readonly code: NftProblem

  constructor(code: NftProblem, wrong: string, fix: string) {
    super(`${wrong}; ${fix}`)
    this.code = code
  }
}

const MAX_STDERR = 8 * 1024
const TIMEOUT_MS = 15_000
const MAX_QUOTED = 200
const NOT_ALLOWED = /operation not permitted|permission denied|you must be root/i
// The message of the kernel depends on the missing module.
const NOT_SUPPORTED =
  /no such file or directory|not supported|cache initialization failed|unknown symbol/i

/** Hands rules to `nft`, which applies all of them or none. Throws nothing but an `NftError`. */
export function applyRules(
  rules: string,
  program: string,
  timeoutMs: number = TIMEOUT_MS,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['-f', '-'], {
      stdio: ['pipe', 'ignore', 'pipe'],
      // The messages are read below, so they must be in one language.
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    })
    let stderr = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      const fix = 'it is unknown whether its rules are active: try again'
      reject(new NftError('TIMED_OUT', `${program} timed out after ${timeoutMs} ms`, fix))
    }, timeoutMs)
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < MAX_STDERR) stderr += text
    })
    // nft may end before it has read everything; its exit has the reason.
    child.stdin.on('error', () => undefined)
    child.stdin.end(rules)
    child.once('error', (error) => {
      clearTimeout(timer)
      reject(startProblem(program, error))
    })
    child.once('close', (code) => {
      clearTimeout(timer)
      if (code === 0) resolve()
      else reject(endProblem(stderr))
    })
  })
}

function startProblem(program: string, error: NodeJS.ErrnoException): NftError {
  if (error.code === 'ENOENT') {
    return new NftError(
      'NOT_FOUND',
      `${program} was not found`,
      'install nftables, or pass the path of nft with --nft',
    )
  }
  const wrong = `${program} cannot be started: ${error.code ?? error.message}`
  return new NftError('CANNOT_START', wrong, 'pass the path of nft with --nft')
}

/** Finds the reason of a failure in what `nft` wrote. */
export function endProblem(stderr: string): NftError {
  if (NOT_ALLOWED.test(stderr)) {
    return new NftError(
      'NOT_ALLOWED',
      'no permission to change nftables rules',
      'run as user 0 with the capability NET_ADMIN, or use squall.dev/mode: port without squall.dev/outbound, which does not require it',
    )
  }
  if (NOT_SUPPORTED.test(stderr)) {
    return new NftError(
      'NOT_SUPPORTED',
      `the kernel cannot redirect: ${quoted(stderr)}`,
      'load nft_chain_nat, nft_redir, nft_nat, nft_ct and nft_reject_inet on the node (modprobe), or use squall.dev/mode: port without squall.dev/outbound',
    )
  }
  const fix = 'check that this nft is version 0.9.6 or newer'
  return new NftError('REJECTED', `nft rejected the rules: ${quoted(stderr)}`, fix)
}

function quoted(stderr: string): string {
  const line = stderr.split('\n').find((text) => text.trim() !== '') ?? 'it gave no reason'
  return line.trim().slice(0, MAX_QUOTED)
}
