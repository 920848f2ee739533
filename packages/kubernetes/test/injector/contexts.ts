import type { InjectionContext } from '../../src/injector/injection.ts'
import type { InjectorSettings } from '../../src/injector/settings-schema.ts'
import type { Pod } from '../../src/injector/pod.ts'
import { parseInjectorSettings } from '../../src/injector/parse-settings.ts'
import { uninjectPod } from '../../src/injector/uninject-pod.ts'

/** Settings of an injector of version 1.2.3 with default options. */
export const SETTINGS: InjectorSettings = parseInjectorSettings({}, '1.2.3')

/** A place where nothing stands against injection, with what differs. */
export function contextOf(
  more: Partial<Omit<InjectionContext, 'namespace'>> & {
    readonly namespace?: Partial<InjectionContext['namespace']>
  } = {},
): InjectionContext {
  return {
    settings: SETTINGS,
    owner: 'ReplicaSet',
    minor: 33,
    ...more,
    namespace: { name: 'tools', labels: {}, annotations: {}, ...more.namespace },
  }
}

/** A pod with one container that serves MCP on port 3000, named mcp, and asks for the sidecar. */
export function podOf(
  annotations: Readonly<Record<string, string>> = {},
  spec: Readonly<Record<string, unknown>> = {},
): Pod {
  return {
    metadata: {
      labels: { app: 'tools' },
      annotations: { 'squall.dev/inject': 'true', ...prefixed(annotations) },
    },
    spec: {
      containers: [
        {
          name: 'app',
          image: 'tools:1',
          ports: [{ name: 'mcp', containerPort: 3000 }],
          readinessProbe: { httpGet: { path: '/healthz', port: 'mcp' }, periodSeconds: 5 },
        },
      ],
      ...spec,
    },
  }
}

/** Keys with the prefix of the vocabulary, where they have none of their own. */
export function prefixed(
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [
      key.includes('/') ? key : `squall.dev/${key}`,
      value,
    ]),
  )
}

/** A pod as it was before its injection. */
export function uninjected(pod: Pod): Pod {
  return uninjectPod(pod, SETTINGS.prefix).pod
}
