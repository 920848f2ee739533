import { DATASOURCE } from './panel.mjs'

/**
 * Picks the sidecars; without such labels on the targets everything is shown. One job alone: a
 * sidecar that two jobs scrape has all its series twice, and each job by itself has all of them.
 */
export const POD =
  'cluster=~"$cluster", job=~"$job", namespace=~"$namespace", workload=~"$workload", pod=~"$pod"'
/** Picks tools, too. */
export const TOOL = `${POD}, tool=~"$tool"`
/** Picks tools, and the series that count all tools together. */
export const TOOL_OR_ALL = `${POD}, tool=~"$tool|[*]"`
/** Picks rules, too. */
export const RULE = `${POD}, rule=~"$rule"`

function values(name, label, query, description) {
  const definition = `label_values(${query}, ${name})`
  return {
    type: 'query',
    name,
    label,
    description,
    datasource: DATASOURCE,
    definition,
    query: { qryType: 1, query: definition, refId: 'PrometheusVariableQueryEditor-VariableQuery' },
    // Also what has no such label: plain `All` would be a list of the values that there are.
    allValue: '.*',
    current: { selected: true, text: ['All'], value: ['$__all'] },
    hide: 0,
    includeAll: true,
    multi: true,
    options: [],
    refresh: 2,
    regex: '',
    skipUrlSync: false,
    sort: 1,
  }
}

/** A choice of exactly one: Grafana takes the first value until a reader takes another. */
function oneOf(name, label, query, description) {
  const { allValue: _, ...variable } = values(name, label, query, description)
  const current = { selected: false, text: '', value: '' }
  return { ...variable, current, includeAll: false, multi: false }
}

/** All variables that dashboards may have, by name. */
export const VARIABLES = {
  datasource: {
    type: 'datasource',
    name: 'datasource',
    label: 'Data source',
    description: 'Prometheus data source that scrapes the sidecars.',
    query: 'prometheus',
    current: { selected: true, text: 'default', value: 'default' },
    hide: 0,
    includeAll: false,
    multi: false,
    options: [],
    refresh: 1,
    regex: '',
    skipUrlSync: false,
  },
  cluster: values(
    'cluster',
    'Cluster',
    'squall_build_info',
    'Clusters with sidecars, if Prometheus scrapes more than one cluster.',
  ),
  job: oneOf(
    'job',
    'Job',
    'squall_build_info{cluster=~"$cluster"}',
    'Prometheus scrape job. Only one job can be selected, because a sidecar that two jobs scrape would count twice.',
  ),
  namespace: values(
    'namespace',
    'Namespace',
    'squall_build_info{cluster=~"$cluster", job=~"$job"}',
    'Namespaces with sidecars.',
  ),
  workload: values(
    'workload',
    'Workload',
    'squall_build_info{cluster=~"$cluster", job=~"$job", namespace=~"$namespace"}',
    'Workloads (such as Deployments) whose pods have a sidecar.',
  ),
  pod: values(
    'pod',
    'Pod',
    'squall_build_info{cluster=~"$cluster", job=~"$job", namespace=~"$namespace", workload=~"$workload"}',
    'Pods with a sidecar.',
  ),
  tool: values('tool', 'Tool', `squall_calls_total{${POD}}`, 'Tools that were called.'),
  rule: values(
    'rule',
    'Rule',
    `squall_rule_matches_total{${POD}}`,
    'Rules, including rules that were removed.',
  ),
}
