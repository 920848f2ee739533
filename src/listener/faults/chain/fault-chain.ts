import { CutResponse } from '../../../filters/lib/cut-response.ts'
import { splice } from '../../../base/json/json-edit.ts'
import type { Span } from '../../../base/json/json-node.ts'
import { readJson } from '../../../base/json/json-text.ts'
import { frameText, withText } from '../../../filters/lib/json/frame-json.ts'
import type { Frame, Verdict } from '../../../filters/fault.ts'
import { heavyWork } from '../../event-loop.ts'
import type { NotApplicableReason } from '../exchange-context.ts'
import type { ActiveFault } from './active-fault.ts'
import {
  type ChainFrame,
  type FrameFlow,
  FrameQueue,
  SealedFrame,
  UnreadFrame,
  isOpen,
} from './frame.ts'
import type { CallFaults } from '../call-faults.ts'
import { Tap } from './tap.ts'

/** Returns the reason for which a verdict cannot be carried out. */
export type ResponseCheck = (verdict: Verdict) => NotApplicableReason | undefined

/** Pipes a response's frames through the faults of a call, in order. */
export function chainOf(
  { faults }: Pick<CallFaults, 'faults'>,
  input: FrameFlow,
  check: ResponseCheck,
  uncut?: NotApplicableReason,
): FrameFlow {
  let flow = input
  for (const active of faults) {
    if (active.fault.beforeResponse !== undefined) flow = responseStage(active, flow, check)
    if (active.fault.onResponse !== undefined) flow = transformStage(active, flow, uncut)
  }
  return flow
}

/** Runs the `beforeResponse` hook of a fault, which may replace the response. */
async function* responseStage(
  active: ActiveFault,
  input: FrameFlow,
  check: ResponseCheck,
): AsyncGenerator<ChainFrame, undefined> {
  const hook = active.fault.beforeResponse!.bind(active.fault)
  try {
    for (let step = await input.next(); step.done !== true; step = await input.next()) {
      const frame = step.value
      const isWhole = isOpen(frame) ? frame.last : frame instanceof UnreadFrame
      if (!isWhole) {
        yield frame
        continue
      }
      const verdict = await active.decide(hook, check)
      if (verdict.kind === 'reset') throw new CutResponse(verdict.how)
      // After the end of the silence the response continues unchanged.
      if (verdict.kind === 'hang') await active.hang().catch(() => undefined)
      yield verdict.kind === 'respond' ? SealedFrame.instead(frame, verdict.reply) : frame
      active.settle()
    }
  } finally {
    await input.return?.()
  }
}

/**
 * Pipes frames through a fault's transform. A transform that fails or stops loses nothing: frames
 * that it took and did not emit continue unchanged. The same holds for a transform that cuts the
 * response where `uncut` gives a reason against it.
 */
async function* transformStage(
  active: ActiveFault,
  input: FrameFlow,
  uncut?: NotApplicableReason,
): AsyncGenerator<ChainFrame, undefined> {
  const tap = new Tap(active, input)
  try {
    let output: AsyncIterator<Frame> | undefined
    try {
      output = active.fault.onResponse!(active, tap)[Symbol.asyncIterator]()
      for (;;) {
        tap.await(output.next())
        // The transform may wait for a frame while comments arrive, which pass it.
        while (!(await tap.given())) for (const quiet of tap.takeQuiet()) yield quiet
        const step = tap.takeGiven()
        active.settle()
        for (const quiet of tap.takeQuiet()) yield quiet
        if (step.done === true) break
        tap.release()
        yield step.value
      }
      output = undefined
      // A transform that ends before its input drops the rest.
      if (!tap.exhausted && tap.sealed === undefined) return
    } catch (error) {
      if (!(error instanceof CutResponse)) active.failed(error)
      else if (uncut !== undefined) active.revoke(uncut)
      else {
        active.settle()
        throw error
      }
      for (const frame of [...tap.takeQuiet(), ...tap.inHand]) yield frame
      tap.release()
    } finally {
      await output?.return?.()
    }
    if (tap.sealed !== undefined) yield tap.sealed
    if (tap.exhausted) return
    for (;;) {
      const step = await input.next()
      if (step.done === true) return
      yield step.value
    }
  } finally {
    await input.return?.()
  }
}

/** Pipes one frame through the faults of a call; adds the frames that replace it to `out`. */
export async function piped(
  owner: CallFaults,
  frame: ChainFrame,
  out: ChainFrame[],
  check: ResponseCheck,
  uncut?: NotApplicableReason,
): Promise<void> {
  const queue = new FrameQueue()
  queue.push(frame)
  queue.close()
  const flow = chainOf(owner, queue, check, uncut)
  for (let step = await flow.next(); step.done !== true; step = await flow.next()) {
    out.push(step.value)
  }
}

/** Configures how a message is taken through its faults. */
export interface MessageOptions {
  /** The reason for which no fault may cut the stream, if any. */
  readonly uncut?: NotApplicableReason | undefined
  /** Finds the message in the text of its frame; the whole text by default. */
  readonly part?: (text: string) => Span | undefined
}

/**
 * Takes a message that is no response through the faults of its rules, as the only frame of one: returns
 * what takes its place, a reply among it. Rejects with `CutResponse` when a fault resets the connection.
 */
export async function pipedMessage(
  owner: CallFaults,
  original: Frame,
  check: ResponseCheck,
  { uncut, part = readJson }: MessageOptions = {},
): Promise<readonly ChainFrame[]> {
  let frame = original
  const verdict = await owner.request(async (_, wanted) => {
    const reason = check(wanted)
    if (reason !== undefined || wanted.kind !== 'edit') return reason
    const text = frameText(frame)
    const at = text === undefined ? undefined : part(text)
    if (text === undefined || at === undefined) return 'unreadable'
    const { start, end } = at
    const edited = await wanted.edit(text.slice(start, end))
    if (edited === undefined) return 'nothing_to_act_on'
    frame = withText(frame, splice(text, [{ start, end, text: edited }]))
    return undefined
  })
  if (verdict.kind === 'lost') return []
  if (verdict.kind === 'reset') throw new CutResponse(verdict.how)
  if (verdict.kind === 'respond') return [SealedFrame.instead(frame, verdict.reply)]
  owner.leaveOutput('nothing_to_act_on')
  const out: ChainFrame[] = []
  await piped(owner, { ...frame, last: true }, out, check, uncut)
  return out
}

/** Receives the frames of a chain; a promise pauses the chain. */
export type OnFrame = (frame: ChainFrame) => Promise<void> | undefined

/** Queues the events of one call, and runs them through its faults. */
export class FrameChain extends FrameQueue {
  /** Settles when all frames have left the chain, or a fault has cut the response. */
  readonly done: Promise<void>

  /** `uncut` is the reason for which no fault may cut the response, if any. */
  constructor(
    owner: CallFaults,
    check: ResponseCheck,
    onFrame: OnFrame,
    onDrain: () => void,
    uncut?: NotApplicableReason,
  ) {
    super(onDrain, owner.memory)
    this.done = this.#run(owner, chainOf(owner, this, check, uncut), onFrame)
  }

  async #run(owner: CallFaults, flow: FrameFlow, onFrame: OnFrame): Promise<void> {
    try {
      for (let step = await flow.next(); step.done !== true; step = await flow.next()) {
        const heavy = heavyWork.wait(step.value.raw.length)
        if (heavy !== undefined) await heavy
        const wait = onFrame(step.value)
        if (wait !== undefined) await wait
      }
    } finally {
      // Not awaited: a sleeping fault wakes at the end of the exchange.
      flow.return?.().catch(() => undefined)
      const { fate, stop } = owner
      const dropped = !fate.responded && fate.appResponse !== undefined
      if (dropped && !stop.aborted) fate.respondedBy(undefined)
      // Frames that no fault reads must not hold up the app.
      this.drop()
    }
  }
}
