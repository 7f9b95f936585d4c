import NotifyClient

/// The findings about a daemon that answers.
extension Doctor {
    static func findings(daemonVersion: String) -> [Finding] {
        guard isOlder(daemonVersion) else { return [] }
        return [
            Finding(
                problem:
                    "the daemon has version \(daemonVersion), older than notifyctl's \(NotificationClient.version)",
                repair: "install this version of notifyd, then restart it, for example with \(sudo)systemctl restart "
                    + "notifyd")
        ]
    }

    /// - Parameters:
    ///   - damage: Damage of anything but messages; nil if there is none, or if this user may not know it.
    ///   - storageProblem: The reason why storing fails, with the repair; nil if storing works, or if this user may not
    ///     know the reason.
    ///   - configurationProblem: The reason why the last reload failed; nil if it succeeded, or if this user may not
    ///     know the reason.
    static func findings(
        storageWorks: Bool, damagedMessages: UInt64, damage: String?, storageProblem: String? = nil,
        configurationProblem: String? = nil
    ) -> [Finding] {
        var findings: [Finding] = []
        if let damage {
            findings.append(
                Finding(
                    problem: "the log is damaged, and the daemon refuses to store: \(damage)",
                    repair: "stop notifyd, then write the sound data to a new file with notifyd --repair, as its user"))
        } else if let storageProblem {
            findings.append(Finding(problem: "posts to be stored are refused: \(storageProblem)", repair: nil))
        } else if !storageWorks {
            findings.append(
                Finding(
                    problem: "the daemon can't store messages",
                    repair: "read the reason in the daemon's log, for example with journalctl --unit notifyd"))
        }
        if damagedMessages > 0 {
            findings.append(
                Finding(
                    problem: "\(damagedMessages) messages in the log are known to be damaged, and are not delivered",
                    repair: "list them with notifyctl check; restore a backup if they are needed"))
        }
        if let configurationProblem {
            findings.append(
                Finding(
                    problem: "the last reload has failed, and the previous configuration is in effect: "
                        + configurationProblem,
                    repair: "correct it, then run notifyctl reload"))
        }
        return findings
    }

    /// A durable subscription, and the number of messages that it has not acknowledged.
    struct Lag {
        var name: String
        var uid: UInt32
        var behind: UInt64
    }

    private static let longLag = 100_000
    private static let namedLags = 5

    /// A finding that names the durable subscriptions that are far behind, the furthest first; none if no subscription
    /// is.
    static func findings(lags: [Lag]) -> [Finding] {
        let long = lags.filter { $0.behind >= longLag }.sorted { $0.behind > $1.behind }
        guard !long.isEmpty else { return [] }
        var names = long.prefix(namedLags).map { "\($0.name) of user \(UserNames.text(of: $0.uid)) (\($0.behind))" }
        if long.count > namedLags { names.append("\(long.count - namedLags) more") }
        return [
            Finding(
                problem: "durable subscriptions have not acknowledged \(longLag) or more messages: "
                    + names.joined(separator: ", "),
                repair: "start their consumers, or remove those that are not needed: notifyctl durable remove NAME")
        ]
    }

    static func isOlder(_ daemonVersion: String) -> Bool {
        numbers(daemonVersion).lexicographicallyPrecedes(numbers(NotificationClient.version))
    }

    private static func numbers(_ version: String) -> [Int] {
        version.split(separator: ".").map { Int($0) ?? 0 }
    }
}

extension Doctor.Lag {
    /// Returns nil if the daemon has not counted the messages, or knows only an upper bound.
    init?(_ subscription: Administration.DurableSubscription) {
        guard let pending = subscription.pending, !pending.count.isUpperBound else { return nil }
        self.init(name: subscription.name, uid: subscription.uid, behind: pending.count.messages)
    }
}
