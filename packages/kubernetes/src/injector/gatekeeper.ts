import { quoted } from '#base'
import { findProduction, type Production, productionText } from '#rules'
import { INJECTION_LABEL } from './injected-names.ts'
import { Denial, type InjectionContext, type UntouchedReason } from './injection.ts'
import { type Pod, runningContainers } from './pod.ts'
import { isAsked } from './injection-options.ts'

const MIRROR = 'kubernetes.io/config.mirror'

/** Returns the reason to leave a pod unchanged; undefined for a pod to inject. */
export function leaveAlone(
  pod: Pod,
  context: InjectionContext,
): { readonly reason: UntouchedReason; readonly message: string } | undefined {
  const { namespace, settings } = context
  const { prefix } = settings
  const asked = isAsked(pod, prefix)
  if (asked === undefined) {
    const message = `not requested: add the annotation ${prefix}inject: "true" to the pod template`
    return { reason: 'not_requested', message }
  }
  if (!asked) return { reason: 'opted_out', message: `${prefix}inject is false` }
  const label = `${prefix}${INJECTION_LABEL}`
  if (namespace.labels[label] === 'disabled') {
    const message = `the namespace ${quoted(namespace.name)} forbids it with the label ${label}=disabled`
    return { reason: 'namespace_disabled', message }
  }
  if (pod.metadata?.annotations?.[MIRROR] !== undefined) {
    const message = 'the kubelet manages a static pod: change the manifest of the pod on the node'
    return { reason: 'mirror_pod', message }
  }
  if (isWindows(pod)) {
    return { reason: 'windows', message: 'the pod runs on Windows; the sidecar requires Linux' }
  }
  const found = settings.productionAction === 'ignore' ? namespaceProduction(context) : undefined
  if (found !== undefined && namespace.annotations[`${prefix}allow-production`] !== 'true') {
    return { reason: 'production', message: `unchanged: ${productionText(found)}` }
  }
  return undefined
}

/** Denies injection in excluded and production namespaces, unless their owner allows it. */
export function denyNamespace(context: InjectionContext, isProductionAllowed: boolean): void {
  const { namespace, settings } = context
  const { prefix } = settings
  if (settings.excludedNamespaces.includes(namespace.name)) {
    throw new Denial(
      'excluded_namespace',
      `nothing is injected in the namespace ${quoted(namespace.name)}`,
      'run your MCP server in another namespace',
    )
  }
  if (settings.productionAction !== 'refuse' || isProductionAllowed) return
  const found = namespaceProduction(context)
  if (found === undefined) return
  const owner = `its owner can allow it with the annotation ${prefix}allow-production: "true" on the namespace`
  throw new Denial(
    'production',
    `no sidecar is injected in production: ${productionText(found)}`,
    namespace.isKnown === false
      ? `${owner}, if the webhook may read namespaces (--read-namespaces, webhook.readNamespaces of the chart)`
      : owner,
  )
}

/** Returns why a namespace counts as production: by its label, or by its name. */
export function namespaceProduction(context: InjectionContext): Production | undefined {
  const { namespace, settings } = context
  const { environmentLabel, productionEnvironments } = settings
  const { name } = namespace
  const label = {
    where: `the label ${environmentLabel} of the namespace ${quoted(name)},`,
    name: namespaceEnvironment(context),
  }
  return findProduction([label, { where: 'the namespace', name }], productionEnvironments)
}

/** Returns the environment that the namespace declares. */
export function namespaceEnvironment({
  namespace,
  settings,
}: InjectionContext): string | undefined {
  const value = namespace.labels[settings.environmentLabel]
  return value === '' ? undefined : value
}

/** Returns the environments that the containers of a pod declare. */
export function containerEnvironments(pod: Pod) {
  return runningContainers(pod).map(({ name, env }) => ({
    where: `ENVIRONMENT of the container ${name},`,
    name: env?.find((each) => each.name === 'ENVIRONMENT')?.value,
  }))
}

/** Returns true for a pod that runs on Windows. */
export function isWindows({ spec }: Pod): boolean {
  return spec?.os?.name === 'windows' || spec?.nodeSelector?.['kubernetes.io/os'] === 'windows'
}
