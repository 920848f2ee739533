import { cell, GENERATED, table } from './markdown.mjs'

/** Returns the reference of all annotations, from their table in the code. */
export async function annotationsPage(built) {
  const { ANNOTATIONS } = await built('packages/kubernetes/src/injector/annotations.js')
  const forPods = ANNOTATIONS.filter(({ targets }) => targets.includes('pod'))
  const forNamespaces = ANNOTATIONS.filter(({ targets }) => !targets.includes('pod'))
  return `${GENERATED}

# Kubernetes annotations

Look up a pod annotation that injects or configures the Squall sidecar. All keys have the prefix \`squall.dev/\` (or the \`prefix\` in the injector settings). Set annotations on the pod template, not on the Deployment. For their effect, see [sidecar injection](../concepts/injection.md).

- **Values** are strings: write \`"3000"\` and \`"true"\`. Pods that request the sidecar with an unknown key or an invalid value are denied, with a suggested fix.
- **Namespace defaults**: keys with “yes” in the Namespace column can also be set on a namespace, as defaults for its pods. The webhook reads these defaults only if you set [\`webhook.readNamespaces\`](../concepts/webhook.md#permissions) in the chart (off by default). \`squall inject\` reads them from the Namespaces in its input.
- **Precedence**: the pod overrides the namespace, and the namespace overrides the injector settings.
- **Upper limits**: for \`max-percent\`, \`max-duration\`, \`max-active\`, \`allow-faults\`, \`guard-error-rate\` and \`guard-window\`, a pod cannot exceed the limit of its namespace or of the injector settings (\`guard-window\` must equal it). Otherwise, the pod is denied, and the message states the limit.
- **Combined lists**: for \`deny-tools\`, \`exclude-paths\` and \`rollback-on\`, the values of the pod, the namespace and the injector settings all apply.

${table(['Key', 'Value', 'Default', 'Namespace', 'Meaning'], forPods.map(row))}

## Namespace annotations and labels

${table(
  ['Key', 'Kind', 'Value', 'Meaning'],
  [
    ...forNamespaces.map(({ key, form, meaning }) => [
      `\`${key}\``,
      'annotation',
      cell(form),
      cell(meaning),
    ]),
    ['`injection`', 'label', '`disabled`', 'disable injection in this namespace'],
    [
      '`environment`, without prefix',
      'label',
      'a name',
      'name of the environment; if it indicates production, the sidecar and its faults require the annotation `allow-production`',
    ],
  ],
)}

## Annotations that Squall writes

| Key | Written by | Value |
| --- | --- | --- |
| \`status\` | the injector | JSON: the mode and its reason, the version, the ports, and the original values for \`squall inject --undo\` |
| \`gateway\` | the chart | label of gateway pods: the name of the gateway |
| \`rules-touched\` | \`squall apply\`, \`stop\`, \`resume\`, experiments | time of the last ConfigMap change, which makes the kubelet update the volume at once |
`
}

function row({ key, form, fallback, targets, meaning }) {
  const isDefault = targets.includes('namespace') ? 'yes' : '–'
  return [
    `\`${key}\``,
    cell(form),
    fallback === '' ? '–' : cell(fallback),
    isDefault,
    cell(meaning),
  ]
}
