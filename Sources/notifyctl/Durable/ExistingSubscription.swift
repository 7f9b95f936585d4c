import NotifyClient

/// Reports options that have no effect on an existing durable subscription.
enum ExistingSubscription {
    /// Prints the settings and the start that have no effect on an existing subscription. Asks the daemon on a
    /// connection of its own, and only if settings or a start are given.
    ///
    /// - Throws: errors of the client.
    static func reportIgnored(
        by name: String, settings: NotificationClient.DurableSettings, start: NotificationClient.Start?,
        sharing: NotificationClient.DurableSharing, configuration: NotificationClient.Configuration
    ) async throws {
        guard start != nil || settings != NotificationClient.DurableSettings() else { return }
        let details: Administration.DurableDetails
        do {
            details = try await withNotificationClient(configuration: configuration) { client in
                try await client.administration.durableSubscription(name)
            }
        } catch let error as NotifyError where error.code == .unknownSubscription {
            return
        }
        // If the sharing differs, the daemon refuses the client, or a takeover changes the settings.
        guard details.subscription.sharing == sharing else { return }
        let notices = [
            settingsNotice(name, settings, existing: details.settings),
            startNotice(name, start, resumedAfter: details.subscription.cursor),
        ]
        for notice in notices.compactMap(\.self) { StandardError.write(notice) }
    }

    /// - Returns: The notice; nil if no given setting differs.
    static func settingsNotice(
        _ name: String, _ settings: NotificationClient.DurableSettings, existing: NotificationClient.DurableSettings
    ) -> String? {
        let options = settings.differences(from: existing)
        guard !options.isEmpty else { return nil }
        return "'\(name)' exists and keeps \(options.joined(separator: " ")); to change this, use "
            + "'notifyctl durable set'"
    }

    /// - Returns: The notice; nil if no start is given, or if the subscription is new.
    static func startNotice(
        _ durable: String?, _ start: NotificationClient.Start?, resumedAfter sequence: UInt64?
    ) -> String? {
        guard let durable, start != nil, let sequence else { return nil }
        return "'\(durable)' exists and resumes after sequence \(sequence), not at --from; to move it, use "
            + "'notifyctl durable reset'"
    }
}
