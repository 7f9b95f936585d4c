import Foundation

/// The notifications that Foundation itself posts, all to its own default center.
enum FoundationForwarding {
    /// Each notification is observed by its name, because Foundation's center traps if a typed message reaches an
    /// observer of every name.
    private static let names: [NSNotification.Name] = [
        .NSFileHandleConnectionAccepted, .NSFileHandleDataAvailable, .NSFileHandleReadToEndOfFileCompletion,
        .NSSystemTimeZoneDidChange, .NSThreadWillExit, .NSCalendarDayChanged,
        FileHandle.readCompletionNotification, NSLocale.currentLocaleDidChangeNotification,
        Port.didBecomeInvalidNotification, Process.didTerminateNotification, UserDefaults.didChangeNotification,
        NSNotification.Name("NSURLCredentialStorageChangedNotification"),
    ]

    /// Forwards these notifications to a center, for the lifetime of the process.
    static func forward(to center: CompatibleNotificationCenter) {
        for name in names {
            // The token may be discarded: the block stays registered until it is removed.
            _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { center.post($0) }
        }
    }
}
