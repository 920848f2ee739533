import { spawn } from 'node:child_process'
import { endProblem, NftError, startProblem } from './nft-problem.ts'

const MAX_STDERR = 8 * 1024
const TIMEOUT_MS = 15_000

/** Hands rules to `nft`, which applies all of them or none. Throws nothing but an `NftError`. */
export function applyRules(
  rules: string,
  program: string,
  timeoutMs: number = TIMEOUT_MS,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['-f', '-'], {
      stdio: ['pipe', 'ignore', 'pipe'],
      // Its messages are read, so they must be in one language.
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    })
    let stderr = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      const fix = 'whether its rules are active is not known: try again'
      reject(new NftError('TIMED_OUT', `${program} did not end in ${timeoutMs} ms`, fix))
    }, timeoutMs)
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (stderr.length < MAX_STDERR) stderr += text
    })
    // It may end without having read everything; why is in how it ends.
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
