/// The last notification of each name and object that was posted to stay.
struct StickyNotifications {
    private struct Key: Hashable {
        let name: NotificationName
        let object: NotificationObject?
    }

    private struct Entry {
        let notification: LocalNotification
        let serial: UInt64
    }

    private var entries: [Key: Entry] = [:]
    private var lastSerial: UInt64 = 0

    var isEmpty: Bool { entries.isEmpty }

    func find(_ name: NotificationName, object: NotificationObject?) -> LocalNotification? {
        entries[Key(name: name, object: object)]?.notification
    }

    /// Keeps a notification and gives back the one whose place it takes.
    mutating func store(_ notification: LocalNotification) -> LocalNotification? {
        lastSerial += 1
        let key = Key(name: notification.name, object: notification.object)
        return entries.updateValue(Entry(notification: notification, serial: lastSerial), forKey: key)?.notification
    }

    mutating func remove(_ name: NotificationName, object: NotificationObject?) -> LocalNotification? {
        entries.removeValue(forKey: Key(name: name, object: object))?.notification
    }

    mutating func removeAll() -> [LocalNotification] {
        defer { entries = [:] }
        return entries.values.map(\.notification)
    }

    /// Those that an observer asks for, in the order in which they were posted.
    func matching(_ names: ObservedNames, object: NotificationObject?) -> [LocalNotification] {
        if entries.isEmpty { return [] }
        return
            entries
            .filter { key, _ in names.matches(key.name) && (object == nil || object == key.object) }
            .values.sorted { $0.serial < $1.serial }.map(\.notification)
    }
}
