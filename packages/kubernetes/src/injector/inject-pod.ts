import { leadsToServices } from './outbound.ts'
import { quoted } from '#base'
import { findProduction, type Production, productionText } from '#rules'
import {
  addedAnnotations,
  needsRedirect,
  redirectContainer,
  sidecarContainer,
  sidecarVolumes,
} from './sidecar-container.ts'
import { changeContainers } from './change-containers.ts'
import { checkServices } from './check-services.ts'
import {
  containerEnvironments,
  denyNamespace,
  leaveAlone,
  namespaceEnvironment,
  namespaceProduction,
} from './gatekeeper.ts'
import { REDIRECT, SIDECAR, SIDECAR_LABEL, STATUS_KEY, VOLUMES } from './injected-names.ts'
import {
  type InjectionStatus,
  StatusError,
  type Undo,
  keptWarnings,
  writeStatus,
} from './injection-status.ts'
import { Denial, type Injection, type InjectionContext, type Mode } from './injection.ts'
import type { Plan } from './sidecar-args.ts'
import {
  allContainers,
  type ObjectMeta,
  type Pod,
  type Container,
  runningContainers,
} from './pod.ts'
import { sidecarResources } from './sidecar-resources.ts'
import { capturedPorts, takenPorts, type TakenPort } from './taken-ports.ts'
import { uninjectPod } from './uninject-pod.ts'
import { chooseTls } from './upstream-tls.ts'
import {
  type InjectionOptions,
  readInjectionOptions,
  rejectUnknownKeys,
} from './injection-options.ts'
import { meshOf } from './mesh.ts'
import { POD_IP } from './value-checks.ts'

const DEFAULT_GRACE = 30

/**
 * Injects the sidecar into a pod that requests it, or returns the reason why not. Removes an
 * earlier injection first, so a repeated run has the same result. The pod has passed `parsePod`.
 */
export function injectPod(pod: Pod, context: InjectionContext): Injection {
  try {
    const left = leaveAlone(pod, context)
    if (left?.reason === 'opted_out') return { kind: 'untouched', ...left }
    rejectUnknownKeys(pod, context.settings.prefix)
    if (left !== undefined) return { kind: 'untouched', ...left }
    return injected(pod, context)
  } catch (error) {
    if (!(error instanceof Denial) && !(error instanceof StatusError)) throw error
    const reason = error instanceof Denial ? error.reason : 'invalid_status'
    return { kind: 'denied', reason, message: error.message }
  }
}

function injected(before: Pod, context: InjectionContext): Injection {
  const { settings, services } = context
  const { pod, kept } = uninjectPod(before, settings.prefix)
  const options = readInjectionOptions(pod, context)
  const isAllowed = options.get('allow-production') === 'true'
  denyNamespace(context, isAllowed)
  rejectTakenNames(pod)
  const ports = takenPorts(pod, options, settings)
  const { mode, why } = chooseMode(pod, options, ports, context)
  rejectOutbound(pod, options, context)
  const { native, warnings } = chooseLifecycle(pod, options, mode, context)
  const tls = chooseTls(pod, options, ports, settings.prefix)
  const { resources, warnings: shared } = sidecarResources(pod, options, settings)
  const changed = changeContainers(pod, { mode, ports, options, settings }, kept)
  const production = productionOf(pod, options, context)
  const stated = options.get('environment') ?? namespaceEnvironment(context)
  const environment = production === undefined ? stated : PRODUCTION
  const plan: Plan = {
    mode,
    ports,
    outbound: capturedPorts(pod, options, ports, settings),
    native,
    options: withTrust(options, context),
    settings,
    image: imageOf(options, context),
    resources,
    tls,
    environment,
    isProductionAllowed: isAllowed && production !== undefined,
    graceSeconds: pod.spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE,
    probes: changed.probes,
    workload: workloadOf(pod, context),
    temporaryDenial: context.temporaryDenial,
  }
  const said = [
    ...warnings,
    ...shared,
    ...changed.warnings,
    ...(mode === 'port'
      ? checkServices({ labels: pod.metadata?.labels ?? {}, ports }, services, settings.prefix)
      : []),
    ...(mode === 'bind' ? checkBinding(pod, ports) : []),
    ...placeWarnings(plan, production, context),
  ]
  const result = assemble(pod, plan, changed, { why, warnings: keptWarnings(said) })
  return { kind: 'injected', pod: result, mode, why, warnings: said }
}

/** Trusts the markers of other sidecars where no other HTTP destination could send markers. */
function withTrust(
  options: InjectionOptions,
  { namespace, injectedServices: services = new Set() }: InjectionContext,
): InjectionOptions {
  const outbound = options.get('outbound') ?? ''
  if (options.has('trust-markers') || !leadsToServices(outbound, namespace.name, services)) {
    return options
  }
  return new Map(options).set('trust-markers', 'true')
}

/** The environment in which no rule of `squall run` acts. */
const PRODUCTION = 'production'

/**
 * Returns why a pod counts as production: by its namespace, its options, or ENVIRONMENT of the
 * upstream.
 */
function productionOf(
  pod: Pod,
  options: InjectionOptions,
  context: InjectionContext,
): Production | undefined {
  const { prefix, productionEnvironments } = context.settings
  const own = { where: `the annotation ${prefix}environment`, name: options.get('environment') }
  const names = [own, ...containerEnvironments(pod)]
  return namespaceProduction(context) ?? findProduction(names, productionEnvironments)
}

function placeWarnings(
  plan: Plan,
  production: Production | undefined,
  { namespace, settings }: InjectionContext,
): readonly string[] {
  const { isProductionAllowed } = plan
  const warnings: string[] = []
  if (production !== undefined && !isProductionAllowed) {
    warnings.push(
      `${productionText(production)}: rules are read and counted, but never act; ${settings.prefix}allow-production: "true" on the namespace allows it`,
    )
  }
  if (namespace.isKnown === false && needsRedirect(plan)) {
    const fix = plan.outbound.length > 0 ? `remove ${settings.prefix}outbound` : 'use mode port'
    warnings.push(
      `the namespace cannot be read: if it enforces Pod Security, the pod is rejected; then ${fix}`,
    )
  }
  return warnings
}

function imageOf(options: InjectionOptions, { settings }: InjectionContext): string {
  const { allowedImages, prefix } = settings
  const image = options.get('image')
  if (image === undefined) return settings.image
  if (allowedImages.length === 0 || allowedImages.some((start) => image.startsWith(start))) {
    return image
  }
  throw new Denial(
    'image',
    `${prefix}image is ${quoted(image)}, which is not an allowed image`,
    `use an image that begins with ${allowedImages.join(' or ')}, or remove the annotation`,
  )
}

function rejectTakenNames(pod: Pod): void {
  const taken =
    allContainers(pod).find(({ name }) => name === SIDECAR || name === REDIRECT) ??
    (pod.spec?.volumes ?? []).find(({ name }) => VOLUMES.includes(name))
  if (taken === undefined) return
  throw new Denial(
    'name_taken',
    `the pod has a container or volume named ${taken.name} that the injector did not add`,
    'rename it, or remove a sidecar that was written by hand',
  )
}

function assemble(
  pod: Pod,
  plan: Plan,
  changed: ReturnType<typeof changeContainers>,
  notes: Pick<InjectionStatus, 'why' | 'warnings'>,
): Pod {
  const { mode, ports, outbound, native, settings } = plan
  const { prefix, version } = settings
  const { metadata, spec } = pod
  const sidecar = sidecarContainer(plan)
  const added = addedAnnotations(pod, plan)
  const init = initContainers(plan, changed, sidecar)
  const undo: Undo = {
    ...changed.undo,
    ...(Object.keys(added).length > 0 && { annotations: added }),
    ...emptyParts(pod),
  }
  const status = writeStatus({
    mode,
    why: notes.why,
    version,
    ports: Object.fromEntries(
      ports.map(({ number, listen }) => [String(number), mode === 'bind' ? number : listen]),
    ),
    ...(outbound.length > 0 && {
      outbound: Object.fromEntries(
        outbound.flatMap(({ targets, listen }) => targets.map((target) => [target, listen])),
      ),
    }),
    native,
    ...(notes.warnings && { warnings: notes.warnings }),
    undo,
  })
  if (status === undefined) {
    throw new Denial('too_large', 'the probes of the pod are too long to keep', 'shorten them')
  }
  return {
    ...pod,
    metadata: markedMeta(metadata ?? {}, { ...added, [`${prefix}${STATUS_KEY}`]: status }, prefix),
    spec: {
      ...spec,
      containers: native ? changed.containers : [sidecar, ...changed.containers],
      ...(init.length > 0 && { initContainers: init }),
      volumes: [...(spec?.volumes ?? []), ...sidecarVolumes(plan)],
    },
  }
}

/** Adds the own init containers, before the first one that waits for a probe of the sidecar. */
function initContainers(
  plan: Plan,
  { initContainers: all, probes }: ReturnType<typeof changeContainers>,
  sidecar: Container,
): readonly Container[] {
  const redirect = needsRedirect(plan) ? [redirectContainer(plan)] : []
  const first = all.findIndex(({ name }) =>
    ['startupz', 'poststart'].some((word) => Object.hasOwn(probes, `${name}/${word}`)),
  )
  if (plan.native) return all.toSpliced(first < 0 ? all.length : first, 0, ...redirect, sidecar)
  const waiting = all[first]
  if (waiting === undefined) return [...all, ...redirect]
  throw new Denial(
    'native_sidecar',
    `the init container ${waiting.name} would wait for a probe that a plain sidecar performs later`,
    `use a native sidecar: ${plan.settings.prefix}native-sidecar: "true" from Kubernetes 1.${FIRST} on`,
  )
}

/** Adds annotations, and the label by which the pod is listed. */
function markedMeta(metadata: ObjectMeta, added: Readonly<Record<string, string>>, prefix: string) {
  const labels = { ...metadata.labels, [`${prefix}${SIDECAR_LABEL}`]: 'injected' }
  return { ...metadata, labels, annotations: { ...metadata.annotations, ...added } }
}

/** Returns the empty lists and maps, which differ from missing ones. */
function emptyParts({ metadata, spec }: Pod): Pick<Undo, 'empty'> {
  const parts = {
    annotations: metadata?.annotations,
    labels: metadata?.labels,
    initContainers: spec?.initContainers,
    volumes: spec?.volumes,
  }
  const empty = Object.entries(parts).filter(
    ([, part]) => part === null || (part !== undefined && Object.keys(part).length === 0),
  )
  return empty.length === 0 ? {} : { empty: Object.fromEntries(empty) }
}

/**
 * Labels by which a controller distinguishes its ReplicaSets; their value ends the ReplicaSet's
 * name.
 */
const HASHES = ['pod-template-hash', 'rollouts-pod-template-hash'] as const
const OF_CRON_JOB = /-\d{8}$/
const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$/

/**
 * Returns the name of the workload that a person would name: the Deployment, not its ReplicaSet,
 * and the CronJob, not one of its Jobs. A pod without an owner is its own workload.
 */
function workloadOf(
  { metadata }: Pod,
  { workload }: Pick<InjectionContext, 'workload'>,
): string | undefined {
  const owner = (metadata?.ownerReferences ?? []).find(({ controller }) => controller === true)
  const name =
    workload ??
    (owner === undefined
      ? (metadata?.name ?? metadata?.generateName?.replace(/-+$/, ''))
      : withoutSuffix(owner, metadata?.labels ?? {}))
  return name !== undefined && NAME.test(name) ? name : undefined
}

function withoutSuffix(
  { kind, name }: { readonly kind?: string; readonly name?: string },
  labels: Readonly<Record<string, string>>,
): string | undefined {
  if (kind === 'Job') return name?.replace(OF_CRON_JOB, '')
  if (kind !== 'ReplicaSet') return name
  const hash = HASHES.map((key) => labels[key]).find((value) => name?.endsWith(`-${value}`))
  return hash === undefined ? name : name?.slice(0, -hash.length - 1)
}

const ENFORCE = 'pod-security.kubernetes.io/enforce'

/** Returns the requested mode if it can work, or chooses one. */
function chooseMode(
  pod: Pod,
  options: InjectionOptions,
  ports: readonly TakenPort[],
  context: InjectionContext,
): { readonly mode: Mode; readonly why: string } {
  const { prefix } = context.settings
  if (pod.spec?.hostNetwork === true) {
    throw new Denial(
      'host_network',
      'the pod uses the host network (hostNetwork), where a sidecar would take over the traffic of other pods',
      'run it without hostNetwork, or without the sidecar',
    )
  }
  const wanted = options.get('mode') ?? 'auto'
  const against = againstRedirect(pod, context)
  if (wanted === 'redirect') {
    if (against !== undefined) {
      const fix = `${against.fix}, or use ${prefix}mode: port`
      throw new Denial(against.reason, `redirect cannot be used: ${against.why}`, fix)
    }
    return { mode: 'redirect', why: 'requested' }
  }
  if (wanted === 'bind') {
    rejectOwnAddress(options, prefix)
    return { mode: 'bind', why: 'requested' }
  }
  if (wanted === 'auto' && against === undefined) {
    return { mode: 'redirect', why: 'auto: redirect is possible' }
  }
  const why = wanted === 'port' ? 'requested' : `auto: ${against?.why ?? ''}`
  rejectUnnamed(ports, why, prefix)
  return { mode: 'port', why }
}

/** Denies the capture of outgoing connections where nothing may redirect them. */
function rejectOutbound(pod: Pod, options: InjectionOptions, context: InjectionContext): void {
  const against = options.has('outbound') ? againstRedirect(pod, context) : undefined
  if (against === undefined) return
  throw new Denial(
    against.reason,
    `outgoing connections cannot be captured: ${against.why}`,
    `${against.fix}, or remove ${context.settings.prefix}outbound`,
  )
}

function againstRedirect(pod: Pod, context: InjectionContext) {
  const level = context.namespace.labels[ENFORCE]
  if (level !== undefined && level !== '' && level !== 'privileged') {
    const why = `the namespace enforces the Pod Security level ${quoted(level)}, which forbids NET_ADMIN`
    return {
      reason: 'pod_security' as const,
      why,
      fix: `use a namespace with ${ENFORCE}=privileged`,
    }
  }
  const mesh = meshOf(pod, context)
  if (mesh === undefined) return undefined
  const why = `${mesh}, which redirects the same traffic`
  return { reason: 'mesh' as const, why, fix: 'remove the pod from the mesh' }
}

/** Rejects the address of the pod, on which the sidecar listens in this mode. */
function rejectOwnAddress(options: InjectionOptions, prefix: string): void {
  if (options.get('upstream-host') !== POD_IP) return
  throw new Denial(
    'upstream_host',
    `${prefix}upstream-host must not be ${POD_IP} in mode bind, in which the sidecar listens on the pod IP`,
    'let your MCP server listen on 127.0.0.1, and remove the annotation',
  )
}

/** Rejects ports without a name, which Services have to follow. */
function rejectUnnamed(ports: readonly TakenPort[], why: string, prefix: string): void {
  const unnamed = ports.find(({ name }) => name === undefined)
  if (unnamed === undefined) return
  throw new Denial(
    'unnamed_port',
    `mode port (${why}) requires named ports, but port ${unnamed.number} has no name`,
    `name containerPort ${unnamed.number}, such as mcp, and use that name as the targetPort of its Service; or make your MCP server listen only on 127.0.0.1, with ${prefix}mode: bind`,
  )
}

const LOOPBACK = /(^|[^\d.])127\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d.])|localhost|::1/
const FIRST_UNPRIVILEGED = 1024

/** Returns the problems of mode `bind` that a pod's manifest shows. */
function checkBinding(pod: Pod, ports: readonly TakenPort[]): readonly string[] {
  const low = ports.filter(({ number }) => number < FIRST_UNPRIVILEGED)
  return [
    ...(runningContainers(pod).some(bindsLoopback)
      ? []
      : [
          'cannot verify that your MCP server listens only on loopback: it must listen on 127.0.0.1, for example with the variable HOST; otherwise it or the sidecar fails with EADDRINUSE',
        ]),
    ...low.map(
      ({ number }) =>
        `the sidecar is not root: whether it may listen on port ${number} depends on the container runtime; a port from ${FIRST_UNPRIVILEGED} on always works`,
    ),
  ]
}

function bindsLoopback({ env, args, command }: Container): boolean {
  const texts = [
    ...(env ?? []).map(({ value }) => value ?? ''),
    ...(args ?? []),
    ...(command ?? []),
  ]
  return texts.some((text) => LOOPBACK.test(text))
}

/** The first version with native sidecars by default. */
const FIRST = 29
/** The first version in which Services find ports of native sidecars by name. */
const STABLE = 33
const JOBS: readonly string[] = ['Job', 'CronJob']

/** Decides between a native sidecar and a plain container; returns warnings about it. */
function chooseLifecycle(
  pod: Pod,
  options: InjectionOptions,
  mode: Mode,
  { minor, owner, settings }: InjectionContext,
) {
  const key = `${settings.prefix}native-sidecar`
  const wanted = options.get('native-sidecar')
  if (wanted === 'true' && minor !== undefined && minor < FIRST) {
    throw new Denial(
      'native_sidecar',
      `Kubernetes 1.${minor} has no native sidecars: the pod would never start`,
      `remove ${key}, or use 1.${FIRST} or newer`,
    )
  }
  const warnings: string[] = []
  let native = wanted === undefined ? (minor ?? 0) >= STABLE : wanted === 'true'
  if (native && mode === 'port' && minor !== undefined && minor < STABLE) {
    native = false
    warnings.push(
      `a plain container is used: Services of Kubernetes 1.${minor} do not find ports of native sidecars by name`,
    )
  }
  if (native) return { native, warnings }
  if (JOBS.includes(owner)) {
    throw new Denial(
      'job',
      'a Job with a plain sidecar container would never complete',
      `use a native sidecar: ${key}: "true" from Kubernetes 1.${FIRST} on, in mode port from 1.${STABLE} on`,
    )
  }
  const { restartPolicy = 'Always' } = pod.spec ?? {}
  if (restartPolicy !== 'Always') {
    warnings.push(
      `the pod never completes with a plain sidecar container, despite restartPolicy ${restartPolicy}; use ${key}: "true" from Kubernetes 1.${FIRST} on`,
    )
  }
  return { native, warnings }
}
