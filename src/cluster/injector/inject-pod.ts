import { quoted } from '../../base/text/foreign-text.ts'
import {
  findProduction,
  type Production,
  productionText,
} from '../../rules/guard/production-names.ts'
import { addedAnnotations } from './added-annotations.ts'
import { STATUS_KEY } from './annotations.ts'
import { changeContainers } from './change-containers.ts'
import { checkBinding } from './check-binding.ts'
import { checkServices } from './check-services.ts'
import { chooseLifecycle } from './choose-lifecycle.ts'
import { chooseMode } from './choose-mode.ts'
import {
  leaveAlone,
  namespaceEnvironment,
  namespaceProduction,
  denyNamespace,
} from './gatekeeper.ts'
import { REDIRECT, SIDECAR, VOLUMES } from './injected-names.ts'
import {
  type InjectionStatus,
  keptWarnings,
  StatusError,
  type Undo,
  writeStatus,
} from './injection-status.ts'
import type { Injection, InjectionContext } from './injection.ts'
import type { Plan } from './plan.ts'
import type { Pod } from './pod-types.ts'
import { redirectContainer } from './redirect-container.ts'
import { Denial } from './denial.ts'
import { sidecarContainer, sidecarVolumes } from './sidecar-container.ts'
import { sidecarResources } from './sidecar-resources.ts'
import { type TakenPort, takenPorts } from './taken-ports.ts'
import { takeBack, type TakenBack } from './uninject-pod.ts'
import { chooseTls } from './upstream-tls.ts'
import {
  readInjectionOptions,
  refuseUnknownKeys,
  type InjectionOptions,
} from './injection-options.ts'
import { workloadOf } from './workload.ts'

const DEFAULT_GRACE = 30

/**
 * Puts the sidecar into a pod that asks for it, or says why not. What an earlier run did is taken
 * back first, so that twice is as good as once. The pod is one that `parsePod` let through.
 */
export function injectPod(pod: Pod, context: InjectionContext): Injection {
  try {
    const left = leaveAlone(pod, context)
    if (left?.reason === 'opted_out') return { kind: 'untouched', ...left }
    refuseUnknownKeys(pod, context.settings.prefix)
    if (left !== undefined) return { kind: 'untouched', ...left }
    return injected(takeBack(pod, context.settings.prefix), context)
  } catch (error) {
    if (error instanceof Denial) {
      return { kind: 'refused', reason: error.reason, message: error.message }
    }
    if (error instanceof StatusError) {
      return { kind: 'refused', reason: 'bad_status', message: error.message }
    }
    throw error
  }
}

function injected({ pod, kept }: TakenBack, context: InjectionContext): Injection {
  const { settings } = context
  const options = readInjectionOptions(pod, context)
  const isAllowed = options.get('allow-production') === 'true'
  denyNamespace(context, isAllowed)
  refuseTakenNames(pod)
  const ports = takenPorts(pod, options, settings)
  const { mode, why } = chooseMode(pod, options, ports, context)
  const { native, warnings } = chooseLifecycle(pod, options, mode, context)
  const tls = chooseTls(pod, options, ports, settings.prefix)
  const { resources, warnings: shared } = sidecarResources(pod, options, settings)
  const changed = changeContainers(pod, { mode, ports, options, settings }, kept)
  const production = productionOf(pod, options, context)
  const environment = production === undefined ? statedEnvironment(options, context) : PRODUCTION
  const plan: Plan = {
    mode,
    ports,
    native,
    options,
    settings,
    image: imageOf(options, context),
    resources,
    tls,
    environment,
    isProductionAllowed: isAllowed && production !== undefined,
    graceSeconds: pod.spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE,
    probes: changed.probes,
    workload: workloadOf(pod, context),
  }
  const said = [
    ...warnings,
    ...shared,
    ...changed.warnings,
    ...(mode === 'port' ? servicesPast(pod, ports, context) : []),
    ...(mode === 'bind' ? checkBinding(pod, ports) : []),
    ...placeWarnings(plan, production, context),
  ]
  const result = assemble(pod, plan, changed, { why, warnings: keptWarnings(said) })
  return { kind: 'injected', pod: result, mode, why, warnings: said }
}

function servicesPast(
  { metadata }: Pod,
  ports: readonly TakenPort[],
  { services, settings }: InjectionContext,
): readonly string[] {
  return checkServices({ labels: metadata?.labels ?? {}, ports }, services, settings.prefix)
}

/** The environment in which no rule of `squall run` acts. */
const PRODUCTION = 'production'

/** A namespace that counts as production outweighs what its pods say; so does ENVIRONMENT of the app. */
function productionOf(
  pod: Pod,
  options: InjectionOptions,
  context: InjectionContext,
): Production | undefined {
  const { prefix, productionEnvironments } = context.settings
  const own = { where: `the annotation ${prefix}environment`, name: options.get('environment') }
  const ofApp = (pod.spec?.containers ?? []).map(({ name, env }) => ({
    where: `ENVIRONMENT of the container ${name},`,
    name: env?.find((each) => each.name === 'ENVIRONMENT')?.value,
  }))
  return namespaceProduction(context) ?? findProduction([own, ...ofApp], productionEnvironments)
}

function statedEnvironment(
  options: InjectionOptions,
  context: InjectionContext,
): string | undefined {
  return options.get('environment') ?? namespaceEnvironment(context)
}

function placeWarnings(
  plan: Plan,
  production: Production | undefined,
  { namespace, settings }: InjectionContext,
): readonly string[] {
  const { mode, isProductionAllowed } = plan
  const warnings: string[] = []
  if (production !== undefined && !isProductionAllowed) {
    warnings.push(
      `${productionText(production)}: rules are read and counted, and none ever acts; ${settings.prefix}allow-production: "true" on the namespace allows it`,
    )
  }
  if (namespace.isKnown === false && mode === 'redirect') {
    warnings.push(
      'the namespace cannot be read: should it enforce Pod Security, the pod is rejected, and mode port is the way',
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
    `${prefix}image is ${quoted(image)}, which is not among the images that are allowed`,
    `use one that begins with ${allowedImages.join(' or ')}, or leave it out`,
  )
}

function refuseTakenNames({ spec }: Pod): void {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  const hit =
    containers.find(({ name }) => name === SIDECAR || name === REDIRECT) ??
    (spec?.volumes ?? []).find(({ name }) => VOLUMES.includes(name))
  if (hit === undefined) return
  throw new Denial(
    'name_taken',
    `the pod has something named ${hit.name} that the injector did not put there`,
    'give it another name, or take the sidecar that was written by hand out',
  )
}

function assemble(
  pod: Pod,
  plan: Plan,
  changed: ReturnType<typeof changeContainers>,
  notes: Pick<InjectionStatus, 'why' | 'warnings'>,
): Pod {
  const { mode, ports, native, settings } = plan
  const { metadata, spec } = pod
  const sidecar = sidecarContainer(plan)
  const added = addedAnnotations(pod, plan)
  const init = [
    ...changed.initContainers,
    ...(mode === 'redirect' ? [redirectContainer(plan)] : []),
    ...(native ? [sidecar] : []),
  ]
  const undo: Undo = {
    ...changed.undo,
    ...(Object.keys(added).length > 0 && { annotations: added }),
    ...emptyParts(pod),
  }
  const status = writeStatus({
    mode,
    why: notes.why,
    version: settings.version,
    ports: Object.fromEntries(
      ports.map(({ number, listen }) => [String(number), mode === 'bind' ? number : listen]),
    ),
    native,
    ...(notes.warnings && { warnings: notes.warnings }),
    undo,
  })
  if (status === undefined) {
    throw new Denial('too_large', 'the probes of the pod are too long to keep', 'shorten them')
  }
  return {
    ...pod,
    metadata: {
      ...metadata,
      annotations: {
        ...metadata?.annotations,
        ...added,
        [`${settings.prefix}${STATUS_KEY}`]: status,
      },
    },
    spec: {
      ...spec,
      containers: native ? changed.containers : [sidecar, ...changed.containers],
      ...(init.length > 0 && { initContainers: init }),
      volumes: [...(spec?.volumes ?? []), ...sidecarVolumes(plan)],
    },
  }
}

/** Lists and maps with nothing in them, which differ from those that are missing. */
function emptyParts({ metadata, spec }: Pod): Pick<Undo, 'empty'> {
  const parts = {
    annotations: metadata?.annotations,
    initContainers: spec?.initContainers,
    volumes: spec?.volumes,
  }
  const empty = Object.entries(parts).filter(
    ([, part]) => part === null || (part !== undefined && Object.keys(part).length === 0),
  )
  return empty.length === 0 ? {} : { empty: Object.fromEntries(empty) }
}
