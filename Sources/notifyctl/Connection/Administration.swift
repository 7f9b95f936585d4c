import NotifyClient

/// The requests of most commands, and the types of their answers.
typealias Administration = NotificationClient.Administration
