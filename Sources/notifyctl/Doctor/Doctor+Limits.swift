import Glibc
import NotifyClient

/// The findings about the limits of a user's stored data.
extension Doctor {
    /// A finding for each resource of stored data whose use has reached 95 % of its limit.
    static func findings(uses: [Administration.ResourceUse]) -> [Finding] {
        uses.compactMap { use in
            guard let limit = use.limit, limit > 0, use.used >= limit - limit / 20, let advice = advice(for: use.name)
            else { return nil }
            let uid = use.name.split(separator: ".").dropFirst().first.flatMap { UInt32($0) } ?? geteuid()
            let isSize = use.name.hasSuffix("bytes")
            let (used, most) =
                isSize ? (Quantities.bytes(use.used), Quantities.bytes(limit)) : ("\(use.used)", "\(limit)")
            return Finding(
                problem:
                    "user \(UserNames.text(of: uid)) has \(used) of at most \(most) \(advice.things)"
                    + (use.used >= limit ? ", and gets no more" : ""),
                repair: advice.repair)
        }
    }

    /// The name of a limited resource, and the repair when its limit is reached; nil for a resource whose use falls by
    /// itself.
    private static func advice(for resource: String) -> (things: String, repair: String)? {
        switch resource.split(separator: ".").last {
        case "stored_bytes":
            (
                "of stored messages (limits.per_user.stored_bytes)",
                "start the subscribers that are behind; messages that are read are deleted after history_age "
                    + "(log.retention). Root can delete some with notifyctl purge, or raise the limit"
            )
        case "failed_bytes":
            (
                "of failed messages and dead letters (limits.per_user.stored_bytes, counted apart from posts)",
                "retry or delete dead letters with notifyctl dead retry or dead purge; until then, subscriptions with "
                    + "many failed messages get no further ones"
            )
        case "durable_subscriptions":
            (
                "durable subscriptions (limits.per_user.durable_subscriptions)",
                "remove those that are not needed with notifyctl durable remove, or raise the limit"
            )
        default: nil
        }
    }
}
