import { NO_TOKEN, REDIRECT } from './injected-names.ts'
import type { Plan } from './plan.ts'
import type { Container } from './pod-types.ts'
import { reachesByLoopback } from './sidecar-args.ts'
import { toResources } from './sidecar-resources.ts'

/** The init container that leads traffic to the sidecar. It has one capability, and ends at once. */
export function redirectContainer(plan: Plan): Container {
  const { settings, ports, image, resources } = plan
  const { imagePullPolicy } = settings
  return {
    name: REDIRECT,
    image,
    ...(imagePullPolicy && { imagePullPolicy }),
    args: [
      'redirect',
      ...ports.flatMap(({ number, listen }) => ['--port', `${number}=${listen}`]),
      '--admin',
      `[::]:${settings.adminPort}`,
      // Otherwise the sidecar's traffic to loopback would come back to it.
      ...(reachesByLoopback(plan) ? ['--exempt-uid', String(settings.user)] : []),
    ],
    resources: toResources(resources),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [NO_TOKEN],
    securityContext: {
      // Root, since capabilities that are added reach nobody else without a file that has them.
      runAsUser: 0,
      runAsGroup: 0,
      runAsNonRoot: false,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
    },
  }
}
