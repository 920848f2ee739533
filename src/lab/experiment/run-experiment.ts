import { setTimeout as sleep } from 'node:timers/promises'
import { readFile } from 'node:fs/promises'
import type { SidecarAdmin } from '../../admin/api-client.ts'
import { CLAIM_PREFIX, ruleNames } from './armed-rules.ts'
import { type Lock, type LockHolder, takeLock } from './lock.ts'
import { RulesChangedError, RulesFile, restoreFile } from './rules-file.ts'
import { askState } from './sidecar-admin.ts'
import { randomBytes } from 'node:crypto'
import { Arming, ACTIVATION_MS } from './arming.ts'
import { runAfterPhase, runBeforePhase } from './steady-phases.ts'
import type { Context, ExperimentOptions } from './context.ts'
import type { ExperimentResult } from './experiment-result.ts'
import { experimentResult } from './finish.ts'
import { findVictim } from './kill.ts'
import { type Preflight, preflight } from './preflight.ts'
import { Probe } from './probe.ts'
import { allAccepted, type Rejection, RejectedError, rejectionError } from './rejection.ts'
import { runStages } from './stages.ts'
import { Steadiness } from './gate.ts'

const WAIT_MS = 3000
const POLL_MS = 50

/**
 * Restores the rules file of an experiment whose process died, if its rules are still there; resolves to
 * true when it did. Failures are ignored, because the rules expire by themselves.
 */
export async function restoreAfterCrash(dead: LockHolder, admin: SidecarAdmin): Promise<boolean> {
  const { backup, id } = dead
  if (backup === undefined) return false
  try {
    const now = await readFile(backup.path, 'utf8')
    if (!now.includes(`"${CLAIM_PREFIX}${id}"`)) return false
    const before = (await askState(admin)).rules.digest
    const { path, bytes, ...rest } = backup
    const previous = bytes === null ? undefined : Buffer.from(bytes, 'base64')
    await restoreFile(path, { ...rest, bytes: previous })
    for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
      if ((await askState(admin)).rules.digest !== before) break
      await sleep(POLL_MS)
    }
    return true
  } catch {
    return false
  }
}

/** Runs an experiment. Throws a `RejectedError` when the experiment may not begin. */
export async function runExperiment(options: ExperimentOptions): Promise<ExperimentResult> {
  const { plan, stateDirectory } = options
  const id = newId(new Date())
  const lock = await takeLock(stateDirectory, plan.target, id)
  try {
    return await locked(options, id, lock)
  } finally {
    await lock.release()
  }
}

async function locked(
  options: ExperimentOptions,
  id: string,
  lock: Lock,
): Promise<ExperimentResult> {
  const { plan, stop, onEvent, version, activationMs = ACTIVATION_MS } = options
  if (lock.dead !== undefined && (await restoreAfterCrash(lock.dead, plan.admin))) {
    onEvent({
      kind: 'note',
      text: `the experiment ${lock.dead.id} died: its rules file is restored`,
    })
  }
  const [{ state, suspended }, rulesFile] = await mayBegin(options, lock.dead?.id)
  await lock.note(plan.rulesFile, rulesFile.previous)
  const { aheadMs, rules } = state
  const arming = new Arming(plan, id, rulesFile, {
    aheadMs,
    activationMs,
    before: rules.digest,
    suspended,
  })
  const onStop = (): void => void arming.restore().catch(() => {})
  stop.addEventListener('abort', onStop, { once: true })
  const target = { url: plan.target, client: 'lean', headers: allHeaders(options) } as const
  const probe = plan.file.steadyState.probe === 'load' ? undefined : new Probe(target, version)
  const names = ruleNames(plan)
  const steadiness = new Steadiness()
  const first: Context = { ...options, id, arming, probe, steadiness, names }
  const startedAt = new Date()
  try {
    if (!stop.aborted) await claim(arming, stop)
    const { phase: before, tools, called } = await runBeforePhase(first)
    const context = { ...first, called }
    const stages = await runStages(context)
    const withdrawn = await arming.withdraw()
    onEvent({ kind: 'rolled-back', restored: withdrawn })
    // Under the rules of another program the result would prove nothing.
    const after = withdrawn && !stop.aborted ? await runAfterPhase(context) : undefined
    const restored = await arming.restore()
    return experimentResult(context, { startedAt, before, tools, stages, restored, after })
  } finally {
    stop.removeEventListener('abort', onStop)
    await arming.restore()
    await probe?.close()
  }
}

/** Returns the reasons not to begin that are known without the lock and without a change. */
export async function moreRejections(
  options: Pick<ExperimentOptions, 'plan' | 'namespaceLabel'>,
): Promise<readonly Rejection[]> {
  try {
    await mayBegin(options, undefined)
    return []
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error
    // Only the holder of the lock knows whether the process behind a claim is dead.
    return error.rejections.filter(({ code }) => code !== 'EXPERIMENT_RUNNING')
  }
}

function mayBegin(
  options: Pick<ExperimentOptions, 'plan' | 'namespaceLabel'>,
  dead: string | undefined,
): Promise<[Preflight, RulesFile, unknown]> {
  const { plan } = options
  const { kill } = plan.file
  const victim =
    kill === undefined ? undefined : findVictim({ pidFile: plan.pidFile!, command: kill.command })
  return allAccepted(preflight(options, dead), RulesFile.open(plan.rulesFile), victim)
}

/** Writes the claim, so that the later of two experiments that begin at once fails. */
async function claim(arming: Arming, stop: AbortSignal): Promise<void> {
  try {
    await arming.arm(undefined, stop)
  } catch (error) {
    if (!(error instanceof RulesChangedError)) throw error
    throw rejectionError(
      'EXPERIMENT_RUNNING',
      'another program changes the rules file',
      'try again',
    )
  }
}

function allHeaders({ plan, headers }: ExperimentOptions): Readonly<Record<string, string>> {
  return { ...plan.file.target.headers, ...headers }
}

/** Returns an id that sorts by time and is short enough for the name of a rule. */
function newId(now: Date): string {
  const [day = '', time = ''] = now.toISOString().split('T')
  const digits = `${day.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`
  return `${digits}-${randomBytes(3).toString('hex')}`
}
