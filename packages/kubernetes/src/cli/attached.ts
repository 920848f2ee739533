import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { oneLine, onSignals, replaceText } from '#base'
import { applyRules, NftError } from '../redirect/nft.ts'
import { refreshRuleset, releaseRuleset, ruleset, undoRuleset } from '../redirect/ruleset.ts'
import { createLogger, type Logger } from '#sidecar'
import { isLive, waitReadyCommand } from '#cli'
import type { AttachedRequest } from '../commands/attached.ts'

/** The reason why the redirect ends. */
interface Ending {
  readonly reason: string
  readonly failed: boolean
}

/** The kernel ends the redirect this long after the last refresh. */
const HELD_SECONDS = 6
const BEAT_MS = 1_500
const READY_MS = 60_000
/** Time for calls that are in flight; faults end at once. */
const DRAIN_MS = 15_000
/** A sidecar that hangs is killed after this time. */
const KILL_MS = DRAIN_MS + 5_000
const TERMINATION_LOG = '/dev/termination-log'

/**
 * Runs the sidecar and refreshes the redirect until the time has passed, or a signal or
 * `squall attach --undo` ends it; returns the exit code. The redirect never outlives the sidecar: it is
 * removed when the sidecar exits, is not refreshed while the sidecar does not respond, and expires
 * when this process is killed.
 */
export async function attachedCommand(request: AttachedRequest): Promise<number> {
  const logger = createLogger({ level: 'info', format: 'json' })
  rejectLate(request.startBefore)
  // The kernel kills the sidecar before the upstream when the pod runs out of memory.
  await writeFile('/proc/self/oom_score_adj', '1000').catch(() => undefined)
  const directory = await mkdtemp(join(tmpdir(), 'squall-'))
  await chmod(directory, 0o755)
  const rulesFile = join(directory, 'rules.yaml')
  const stopped = stopAsked()
  const sidecar = startSidecar(request, rulesFile)
  const gone = once(sidecar, 'exit').then(([code, signal]) => ({
    reason: `squall run exited (${String(signal ?? code)})`,
    failed: true,
  }))
  const ended = Promise.race([stopped, gone])
  const ending = await untilEnded(request, rulesFile, ended, logger).catch((error: unknown) => ({
    reason: error instanceof Error ? error.message : String(error),
    failed: true,
  }))
  await giveBack(request, sidecar, logger)
  await rm(directory, { recursive: true, force: true })
  const reason = oneLine(ending.reason)
  logger[ending.failed ? 'error' : 'info']({ reason }, 'detached')
  logger.flush()
  // The kubelet shows this file, if it exists, as the state of the container.
  await writeFile(TERMINATION_LOG, `detached: ${reason}\n`, { flag: 'r+' }).catch(() => undefined)
  return ending.failed ? 1 : 0
}

async function untilEnded(
  request: AttachedRequest,
  rulesFile: string,
  ended: Promise<Ending>,
  logger: Logger,
): Promise<Ending> {
  const ready = waitReadyCommand({ admin: request.admin.ask, waitMs: READY_MS, withApp: false })
  const early = await Promise.race([ended, ready.then(() => undefined)])
  return early ?? (await hold(request, rulesFile, ended, logger))
}

async function hold(
  { redirects, rulesText, forMs, admin, nft }: AttachedRequest,
  rulesFile: string,
  ended: Promise<Ending>,
  logger: Logger,
): Promise<Ending> {
  await applyRules(ruleset({ redirects, exemptUid: undefined, heldSeconds: HELD_SECONDS }), nft)
  // Active rules mean that traffic is redirected, so they come after the redirect.
  await replaceText(rulesFile, rulesText)
  logger.info({ redirects, forMs }, 'attached')
  const until = performance.now() + forMs
  for (;;) {
    const left = until - performance.now()
    if (left <= 0) return { reason: `after ${forMs / 1000} s`, failed: false }
    const pause = sleep(Math.min(BEAT_MS, left)).then(() => undefined)
    const early = await Promise.race([ended, pause])
    if (early !== undefined) return early
    // Without a refresh, calls go to the upstream until the sidecar responds again.
    if (!(await isLive(admin.ask, BEAT_MS))) continue
    try {
      await applyRules(refreshRuleset(redirects, HELD_SECONDS), nft)
    } catch (error) {
      if (!(error instanceof NftError)) throw error
      if (error.code === 'NOT_SUPPORTED')
        return { reason: 'by squall attach --undo', failed: false }
      return { reason: error.message, failed: true }
    }
  }
}

/** Sends new connections to the upstream, drains the sidecar, and removes all nftables rules. */
async function giveBack(
  { nft }: AttachedRequest,
  sidecar: ChildProcess,
  logger: Logger,
): Promise<void> {
  const complain = (err: unknown): void => {
    logger.error({ err }, 'the redirect could not be removed; the kernel removes it within seconds')
  }
  await applyRules(releaseRuleset(), nft).catch(complain)
  if (sidecar.pid !== undefined && sidecar.exitCode === null && sidecar.signalCode === null) {
    const gone = once(sidecar, 'exit')
    sidecar.kill('SIGTERM')
    const late = setTimeout(() => sidecar.kill('SIGKILL'), KILL_MS)
    await gone
    clearTimeout(late)
  }
  await applyRules(undoRuleset(), nft).catch(complain)
}

function startSidecar(
  { redirects, admin, user }: AttachedRequest,
  rulesFile: string,
): ChildProcess {
  const { SQUALL_RULES_TEXT: _text, ...env } = process.env
  const args = redirects.flatMap(({ from, to }) => [
    '--listen',
    `[::]:${to}`,
    '--upstream',
    `http://127.0.0.1:${from}`,
  ])
  args.push('--admin', admin.text, '--rules', rulesFile, '--ready-without-upstream')
  args.push('--drain-timeout', `${DRAIN_MS / 1000}s`)
  return spawn(process.execPath, [...process.execArgv, process.argv[1]!, 'run', ...args], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    // A user other than root loses all capabilities.
    uid: user,
    gid: user,
  }).on('error', () => undefined)
}

function rejectLate(startBefore: number | undefined): void {
  if (startBefore === undefined || Date.now() < startBefore) return
  throw new Error(
    `the start deadline ${new Date(startBefore).toISOString()} has passed, so no traffic was redirected; check the clocks and the image pull time, and attach again`,
  )
}

function stopAsked(): Promise<Ending> {
  return new Promise((resolve) => {
    onSignals(['SIGTERM', 'SIGINT'], (signal) => resolve({ reason: `by ${signal}`, failed: false }))
  })
}
