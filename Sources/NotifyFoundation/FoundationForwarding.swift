import Foundation

/// The notifications that Foundation itself posts, all to its own default center.
enum FoundationForwarding {
    /// One by one: Foundation's center traps where a typed message reaches an observer of every name.
    private static let names: [NSNotification.Name] = [
        .NSFileHandleConnectionAccepted, .NSFileHandleDataAvailable, .NSFileHandleReadToEndOfFileCompletion,
        .NSSystemTimeZoneDidChange, .NSThreadWillExit, .NSCalendarDayChanged,
        FileHandle.readCompletionNotification, NSLocale.currentLocaleDidChangeNotification,
        Port.didBecomeInvalidNotification, Process.didTerminateNotification, UserDefaults.didChangeNotification,
        NSNotification.Name("NSURLCredentialStorageChangedNotification"),
    ]

    /// Posts them to this center as well, as long as the process runs.
    static func forward(to center: CompatibleNotificationCenter) {
        for name in names {
            // The token is not needed: the block stays until it is removed.
            _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { center.post($0) }
        }
    }
}
