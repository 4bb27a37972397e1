test_generator = test_datagen.flow_from_directory(
    test_dir,
    target_size=(224, 224),
    batch_size=9,
    class_mode='categorical',
    shuffle=True)

model = load_model('VGG_FLOW1.h5')
print("evaluate_generator:", model.metrics_names, "=", model.evaluate_generator(test_generator, verbose=1))
Y_pred = model.predict_generator(test_generator, test_generator.samples // test_generator.batch_size, verbose=1)
y_pred = np.argmax(Y_pred, axis=1)
y_true = test_generator.classes[:len(y_pred)]
print('Confusion Matrix')
print(confusion_matrix(y_true, y_pred))
print('Classification Report')
print(classification_report(y_true, y_pred, target_names=['crack', 'dent', 'normal', 'scratch']))
