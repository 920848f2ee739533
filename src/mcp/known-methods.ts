/**
 * The notifications by which a server reports the status of a task, before and from 2026-07-28 on.
 */
export const TASK_NOTIFICATIONS: readonly string[] = [
  'notifications/tasks/status',
  'notifications/tasks',
]

/** The requests of a client in all protocol versions; any other method is counted as `other`. */
export const KNOWN_METHODS: readonly string[] = [
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'subscriptions/listen',
  'completion/complete',
  'logging/setLevel',
  'tasks/list',
  'tasks/get',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
]

/** Methods of messages that only servers send. */
export const SERVER_METHODS: readonly string[] = [
  'notifications/message',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/elicitation/complete',
  ...TASK_NOTIFICATIONS,
]

/** Methods of messages that only clients send. */
export const CLIENT_METHODS: readonly string[] = [
  ...KNOWN_METHODS.filter((method) => method !== 'ping' && !method.startsWith('tasks/')),
  'notifications/initialized',
  'notifications/roots/list_changed',
]
