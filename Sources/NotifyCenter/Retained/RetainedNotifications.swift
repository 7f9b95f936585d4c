/// The last notification of each name and object that was posted to stay.
struct RetainedNotifications {
    /// One that stays, and what tells it from those that had or take its place.
    struct Entry {
        let notification: LocalNotification
        fileprivate let serial: UInt64
    }

    /// By name and object. The key is the object of the very notification, so that who is given a notification that goes
    /// holds the key as well: a value that goes may call the center, and must not do so under its lock.
    private var entries: [NotificationName: [NotificationObject?: Entry]] = [:]
    private var lastSerial: UInt64 = 0

    var isEmpty: Bool { entries.isEmpty }

    func find(_ name: NotificationName, object: NotificationObject?) -> LocalNotification? {
        entries[name]?[object]?.notification
    }

    /// Keeps a notification and gives back the one whose place it takes.
    mutating func store(_ notification: LocalNotification) -> LocalNotification? {
        lastSerial += 1
        // Only replacing the value would leave the key, which is equal but came with the other notification.
        let old = entries[notification.name]?.removeValue(forKey: notification.object)
        let entry = Entry(notification: notification, serial: lastSerial)
        entries[notification.name, default: [:]][notification.object] = entry
        return old?.notification
    }

    mutating func remove(_ name: NotificationName, object: NotificationObject?) -> LocalNotification? {
        let old = entries[name]?.removeValue(forKey: object)
        if entries[name]?.isEmpty == true { entries[name] = nil }
        return old?.notification
    }

    /// Gives back all that there were.
    mutating func removeAll() -> RetainedNotifications {
        defer { entries = [:] }
        return self
    }
}

// MARK: - For new observers

extension RetainedNotifications {
    /// Those that an observer asks for, in the order in which they were posted.
    func matching(_ names: ObservedNames, object: NotificationObject?) -> [Entry] {
        let found =
            switch names.kind {
            case .name(let name): entries[name].map { Self.entries(in: $0, of: object) } ?? []
            case .patterns:
                entries.filter { name, _ in names.matches(name) }.values.flatMap { Self.entries(in: $0, of: object) }
            }
        return found.sorted { $0.serial < $1.serial }
    }

    /// Whether an entry still stays, and no other one has taken its place.
    func contains(_ entry: Entry) -> Bool {
        entries[entry.notification.name]?[entry.notification.object]?.serial == entry.serial
    }

    private static func entries(in all: [NotificationObject?: Entry], of object: NotificationObject?) -> [Entry] {
        guard let object else { return Array(all.values) }
        return all[object].map { [$0] } ?? []
    }
}
